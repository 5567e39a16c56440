"""The customers of the world: names, telephones, e-mail addresses, homes, and what they write.

All invented: e-mail domains are reserved for examples and telephone numbers use a block of their own.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from pipelines.sandbox.rng import Rng

if TYPE_CHECKING:
    from pipelines.sandbox.places import Town

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
