"""The towns and customers of the world: timezones, streets, names, telephones, e-mail addresses, and what people write.

All invented: e-mail domains are reserved for examples and telephone numbers use a block of their own. All towns pay in
euro, so one currency goes with eleven timezones: with and without daylight saving time, east and west of UTC.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from decimal import Decimal

from pipelines.sandbox.rng import Rng


@dataclass(frozen=True, slots=True)
class Town:
    """A town; `phone` is the country's and area's dialling code, `speech` picks people's names and notes."""

    name: str
    timezone: str
    speech: str
    phone: str
    latitude: Decimal
    longitude: Decimal
    streets: tuple[str, ...]


def _town(name: str, timezone: str, speech: str, phone: str, place: tuple[str, str], streets: str) -> Town:
    return Town(name, timezone, speech, phone, Decimal(place[0]), Decimal(place[1]), tuple(streets.split("|")))


TOWNS: tuple[Town, ...] = (
    _town("Berlin", "Europe/Berlin", "de", "+49 30", ("52.520008", "13.404954"),
          "Torstraße|Kastanienallee|Sonnenallee|Bergmannstraße|Warschauer Straße|Karl-Marx-Allee|Oranienstraße"),
    _town("Lisboa", "Europe/Lisbon", "pt", "+351 21", ("38.722252", "-9.139337"),
          "Rua Augusta|Rua da Bica|Avenida da Liberdade|Rua do Século|Calçada do Combro|Rua de São Bento"),
    _town("Helsinki", "Europe/Helsinki", "fi", "+358 9", ("60.169857", "24.938379"),
          "Mannerheimintie|Hämeentie|Bulevardi|Fredrikinkatu|Aleksanterinkatu|Runeberginkatu"),
    _town("Dublin", "Europe/Dublin", "en", "+353 1", ("53.349805", "-6.260310"),
          "Capel Street|Camden Street Lower|Dame Street|Thomas Street|Rathmines Road|Drumcondra Road"),
    _town("Madrid", "Europe/Madrid", "es", "+34 91", ("40.416775", "-3.703790"),
          "Calle de Alcalá|Calle de Fuencarral|Gran Vía|Calle del Pez|Calle de Embajadores|Calle de Ponzano"),
    _town("Athína", "Europe/Athens", "el", "+30 21", ("37.983810", "23.727539"),
          "Ermou|Athinas|Kolokotroni|Skoufa|Themistokleous|Leoforos Alexandras"),
    _town("Le Moule", "America/Guadeloupe", "fr", "+590 590", ("16.332900", "-61.345100"),
          "Rue Joffre|Boulevard Rougé|Rue Duchassaing|Rue de la Liberté|Avenue Gerty Archimède"),
    _town("Saint-Denis", "Indian/Reunion", "fr", "+262 262", ("-20.882057", "55.450675"),
          "Rue de Paris|Rue du Maréchal Leclerc|Rue Juliette Dodu|Avenue de la Victoire|Rue Sainte-Anne"),
    _town("Ponta Delgada", "Atlantic/Azores", "pt", "+351 296", ("37.739400", "-25.668700"),
          "Rua do Contador|Rua de Lisboa|Rua Machado dos Santos|Avenida Infante Dom Henrique"),
    _town("Las Palmas", "Atlantic/Canary", "es", "+34 928", ("28.123546", "-15.436257"),
          "Calle Triana|Calle León y Castillo|Paseo de las Canteras|Calle Mesa y López|Calle Tomás Morales"),
    _town("Cayenne", "America/Cayenne", "fr", "+594 594", ("4.922420", "-52.313453"),
          "Rue Lallouette|Avenue du Général de Gaulle|Rue Christophe Colomb|Route de Montabo"),
    _town("München", "Europe/Berlin", "de", "+49 89", ("48.135125", "11.581981"),
          "Sendlinger Straße|Leopoldstraße|Lindwurmstraße|Hohenzollernstraße|Fraunhoferstraße|Müllerstraße"),
)  # fmt: skip


FIRST_NAMES: dict[str, tuple[str, ...]] = {
    "de": tuple("Anna Lukas Mia Jürgen Sabine Jonas Käthe Emre Leonie Björn Ayşe Felix Greta Matthias Hülya".split()),
    "pt": tuple("João Inês Tiago Beatriz Gonçalo Marta Rui Leonor Duarte Conceição Nuno Sofia".split()),
    "fi": tuple("Aino Mikko Päivi Jukka Sanna Väinö Elina Timo Hilla Eero Kaisa Onni".split()),
    "en": tuple("Aoife Sean Niamh Conor Grace Liam Orla Patrick Ciara Declan Róisín Jack".split()),
    "es": tuple("Lucía Javier Carmen Íñigo Marta Álvaro Begoña Pablo Nuria Sergio Ana Iker".split()),
    "el": tuple("Eleni Giorgos Maria Nikos Katerina Dimitris Sofia Yannis Ioanna Kostas".split()),
    "fr": tuple("Chloé Mathéo Élodie Hugo Inès Loïc Maëlys Jean-Marc Anaïs Théo Zoé Cédric".split()),
}
LAST_NAMES: dict[str, tuple[str, ...]] = {
    "de": tuple("Schmidt Müller Yılmaz Weiß Krüger Becker Hoffmann Öztürk Lange Böhm Vogel Richter Nguyen".split()),
    "pt": tuple("Silva Santos Ferreira Gonçalves Araújo Magalhães Mendes Simões Baptista Rocha".split()),
    "fi": tuple("Korhonen Virtanen Mäkinen Nieminen Hämäläinen Laine Heikkilä Järvinen Lehtonen".split()),
    "en": tuple("Murphy O'Brien Byrne Walsh Kelly O'Connor Ryan Doyle McCarthy Nolan Kavanagh".split()),
    "es": tuple("García Fernández Muñoz Ibáñez Peña López Romero Ortega Núñez Vázquez Gil".split()),
    "el": tuple("Papadopoulou Georgiou Nikolaidis Ioannou Vlachos Karagianni Economou Pappas".split()),
    "fr": tuple("Martin Lefèvre Hoarau Payet Garçon Dubois Grondin Boyer Néron Sainte-Rose Robert".split()),
}
NOTES: dict[str, tuple[str, ...]] = {
    "de": (
        "Bitte klingeln bei {last}, 3. OG links",
        "Hinterhaus, Tür steht offen",
        "Anrufen unter {phone}",
        "Code 4711#",
    ),
    "pt": ("Tocar no 2.º esq.", "Ligar para {phone} à chegada", "Portão verde, ao lado da farmácia"),
    "fi": ("Ovikoodi 2580", "Soita kun olet perillä: {phone}", "Jätä oven taakse, kiitos!"),
    "en": ("Leave with the porter", "Ring twice, ask for {first}", "Call {phone}, bell is broken 🔔", "Side gate"),
    "es": ("Portal 4, timbre roto: llamar al {phone}", "Dejar en conserjería", "2ª puerta a la derecha"),
    "el": ("Chtypíste to koudoúni «{last}»", "2os órofos", "Tilefoníste: {phone}"),
    "fr": ("Digicode 19B4, 2e étage", "Appeler {first} au {phone}", "Laisser chez le voisin", "Portail bleu 👍"),
}
WISHES: tuple[str, ...] = (
    "no onions please", "extra napkins", "well done", "allergic to nuts!", "sauce on the side", "ohne Zwiebeln",
    "sem coentros", "sin cebolla, gracias", "bien cuit", "ei sipulia", "birthday – a candle? 🎂", "cut in 8",
    '"medium", not rare', "half & half <if possible>", "not spicy\n(really not)",
)  # fmt: skip
_APARTMENTS = ("", "", "Apt {n}", "Apt {n}, floor 2", "{n}B", "c/o {last}", "floor {n}")
_MAILS = (
    "{first}.{last}@example.com",
    "{first}{n}@example.org",
    "{last}.{first}@mail.example",
    "{first}_{last}@example.net",
)
_UNDECOMPOSED = str.maketrans({"ß": "ss", "ı": "i", "ø": "o", "æ": "ae"})


@dataclass(frozen=True, slots=True)
class Customer:
    """A person who orders, with a home."""

    name: str
    phone: str
    email: str
    address: str
    apartment: str
    latitude: Decimal
    longitude: Decimal
    notes: tuple[str, ...]


def meet(seed: int, number: int, town: Town) -> Customer:
    """Return the world's customer of this number, at home in this town."""
    rng = Rng(seed, "customer", number)
    first, last = rng.pick(FIRST_NAMES[town.speech]), rng.pick(LAST_NAMES[town.speech])
    phone = f"{town.phone} 555 {number:06d}"
    words = {"first": _plain(first), "last": _plain(last), "n": str(number % 97)}
    email = rng.pick(_MAILS).format(**words)
    # The same address does not come twice: a second Anna Schmidt has her number in it.
    name, _, domain = email.partition("@")
    email = f"{name}.{number}@{domain}"
    street = rng.pick(town.streets)
    house = rng.between(1, 180)
    return Customer(
        name=f"{first} {last}",
        phone=phone,
        email=email,
        address=f"{street} {house}, {town.name}",
        apartment=rng.pick(_APARTMENTS).format(n=rng.between(1, 60), last=last),
        latitude=town.latitude + Decimal(rng.between(-30_000, 30_000)).scaleb(-6),
        longitude=town.longitude + Decimal(rng.between(-30_000, 30_000)).scaleb(-6),
        notes=tuple(note.format(first=first, last=last, phone=phone) for note in NOTES[town.speech]),
    )


def contact(rng: Rng, customer: Customer) -> tuple[str, str]:
    """Return the phone and e-mail that a customer gives this time: now and then one or both are left out."""
    phone, email, drawn = customer.phone, customer.email, rng.random()
    if drawn < 0.005:
        return "", ""
    if drawn < 0.03:
        return "", email
    if drawn < 0.09:
        return phone, ""
    if drawn < 0.14:
        return phone.replace(" ", ""), email
    return phone, email.capitalize() if drawn < 0.18 else email


def _plain(name: str) -> str:
    folded = unicodedata.normalize("NFKD", name.lower().translate(_UNDECOMPOSED))
    return "".join(letter for letter in folded if letter.isascii() and letter.isalpha())
