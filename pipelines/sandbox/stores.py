"""Found the world's stores, brands with menus and branches in towns, and meet its customers, with what they write.

All invented: e-mail domains are reserved for examples and telephone numbers use a block of their own. All towns pay in
euro, so one currency goes with eleven timezones: with and without daylight saving time, east and west of UTC.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.sandbox.menus import (
    CENT,
    CHOICES,
    CUISINES,
    Cuisine,
    History,
    Menu,
    Modifier,
    PlacedModifier,
    Price,
    PriceGroup,
    Product,
    at,
    shortest,
)
from pipelines.sandbox.rng import Rng

if TYPE_CHECKING:
    from collections.abc import Sequence


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
class SandboxCustomer:
    """A person who orders, with a home."""

    name: str
    phone: str
    email: str
    address: str
    apartment: str
    latitude: Decimal
    longitude: Decimal
    notes: tuple[str, ...]


def meet(seed: int, number: int, town: Town) -> SandboxCustomer:
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
    return SandboxCustomer(
        name=f"{first} {last}",
        phone=phone,
        email=email,
        address=f"{street} {house}, {town.name}",
        apartment=rng.pick(_APARTMENTS).format(n=rng.between(1, 60), last=last),
        latitude=town.latitude + Decimal(rng.between(-30_000, 30_000)).scaleb(-6),
        longitude=town.longitude + Decimal(rng.between(-30_000, 30_000)).scaleb(-6),
        notes=tuple(note.format(first=first, last=last, phone=phone) for note in NOTES[town.speech]),
    )


def contact(rng: Rng, customer: SandboxCustomer) -> tuple[str, str]:
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


NO_CHANGE = 0
_CHANNELS = {"both": "both", "pick_up": "pick_up", "store_delivery": "delivery"}
_DESCRIPTIONS = (
    "", "Made fresh every day.", "Our guests' favourite.", "Contains gluten and milk.", "With love from our kitchen.",
    "Vegetarian.", "Vegan on request.", "Award-winning since 1998 – try it!", "New recipe.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SandboxStore:
    """A restaurant; `menus` are its brand's, `weight` its share of orders, `late` whether it is open past midnight."""

    store_id: int
    names: History[str]
    town: Town
    address: str
    phone: str
    menus: tuple[Menu, ...]
    weight: float
    late: bool

    def record(self, moment: int) -> dict[str, Any]:
        """Return the store record as it stood at the moment: its shape is not in the interface."""
        return {
            "id": self.store_id,
            "name": at(self.names, moment),
            "timezone": self.town.timezone,
            "currency": "EUR",
            "menu_ids": [menu.menu_id for menu in self.menus],
            "phone": self.phone,
            "address": {"street": self.address, "city": self.town.name},
            "latitude": self.town.latitude,
            "longitude": self.town.longitude,
            "accepts_pick_up": True,
        }


def found_stores(*, seed: int, stores: int, changes: Sequence[int]) -> list[SandboxStore]:
    """Return the stores of a world; menus and names change at some of the moments `changes`."""
    rng = Rng(seed, "stores")
    brands: list[tuple[str, tuple[Menu, ...]]] = []
    founded = []
    for number in range(stores):
        town = TOWNS[number % len(TOWNS)]
        if number == 0 or rng.often(0.55):
            brands.append(_Founder(seed, len(brands), changes).brand())
            brand, menus = brands[-1]
        else:
            brand, menus = rng.pick(brands)
        street = rng.pick(town.streets)
        names: History[str] = ((NO_CHANGE, f"{brand} {street}"),)
        # A store that gets another name keeps its identity.
        if changes and (number == 0 or rng.often(0.08)):
            names = (*names, (rng.pick(changes), f"{brand} {town.name}"))
        founded.append(
            SandboxStore(
                store_id=101 + 7 * number + rng.below(5),
                names=names,
                town=town,
                address=f"{street} {rng.between(1, 140)}",
                phone=f"{town.phone} 555 9{number:04d}",
                menus=menus,
                weight=0.4 + 1.6 * rng.random(),
                late=rng.often(0.3),
            )
        )
    return founded


class _Founder:
    """Makes up one brand: identifiers are its number's own range, so brands do not disturb each other."""

    def __init__(self, seed: int, number: int, changes: Sequence[int]) -> None:
        self.number = number
        self.rng = Rng(seed, "brand", number)
        self.changes = [moment for moment in changes if self.rng.often(0.4)] or list(changes[:1])
        self.moments: set[int] = set()
        self.modifiers: dict[int, Modifier] = {}
        self.by_name: dict[str, int] = {}
        self.next_id = 50_000 + 1_000 * number

    def brand(self) -> tuple[str, tuple[Menu, ...]]:
        """Return the brand's name and menus."""
        cuisine = CUISINES[self.number % len(CUISINES)]
        name = cuisine.names[self.number // len(CUISINES) % len(cuisine.names)]
        first_product = 10_000 + 100 * self.number
        sections = self._products(cuisine, first_product)
        every = [dish for dishes in sections.values() for dish in dishes]
        popular = self.rng.shuffled(every)[: max(2, len(every) // 6)]
        main = self._menu(0, "All day", [*sections.items(), ("Popular", popular)], Decimal(0))
        menus = [main]
        if self.number == 0 or self.rng.often(0.6):
            few = {title: dishes[: 1 + len(dishes) // 2] for title, dishes in sections.items()}
            menus.append(self._menu(1, "Lunch", list(few.items()), Decimal("-1.10")))
        rounds = self.number // (len(CUISINES) * len(cuisine.names))
        return f"{name} {rounds + 1}" if rounds else name, tuple(menus)

    def _products(self, cuisine: Cuisine, first: int) -> dict[str, list[tuple[Product, Decimal]]]:
        sections: dict[str, list[tuple[Product, Decimal]]] = {}
        for title, dishes in cuisine.sections.items():
            for name, price, choices in dishes:
                descriptions: History[str] = ((NO_CHANGE, self.rng.pick(_DESCRIPTIONS)),)
                if self.changes and self.rng.often(0.08):
                    descriptions = (*descriptions, (self._moment(), f"{name}: new recipe, same price."))
                product = Product(
                    product_id=first,
                    name=name,
                    descriptions=descriptions,
                    dispatch_method=self.rng.weighted([(16, "both"), (2, "pick_up"), (1, "store_delivery")]),
                    choices=tuple(
                        PlacedModifier(self._modifier(choice), position, ((NO_CHANGE, Decimal(0)),))
                        for position, choice in enumerate(choices, 1)
                    ),
                )
                sections.setdefault(title, []).append((product, Decimal(price)))
                first += 1 + self.rng.below(2)
        return sections

    def _modifier(self, choice_name: str) -> int:
        """Return the id of a group of options, which is made once however many products share it."""
        if choice_name in self.by_name:
            return self.by_name[choice_name]
        choice = CHOICES[choice_name]
        group_id = self.by_name[choice_name] = self._new_id()
        children = []
        for position, (name, price, opens) in enumerate(choice.options, 1):
            option_id = self._new_id()
            below = tuple(
                PlacedModifier(self._modifier(inner), place, ((NO_CHANGE, Decimal(0)),))
                for place, inner in enumerate(opens, 1)
            )
            self.modifiers[option_id] = Modifier(option_id, name, "", None, below)
            children.append(PlacedModifier(option_id, position, self._modifier_prices(Decimal(price))))
        text = {"one": "Choose one.", "some": "As many as you like.", "without": ""}[choice.kind]
        self.modifiers[group_id] = Modifier(group_id, choice.name, text, choice.kind, tuple(children))
        return group_id

    def _new_id(self) -> int:
        self.next_id += 1 + self.rng.below(3)
        return self.next_id

    def _moment(self) -> int:
        moment = self.rng.pick(self.changes)
        self.moments.add(moment)
        return moment

    def _modifier_prices(self, price: Decimal) -> History[Decimal]:
        prices: History[Decimal] = ((NO_CHANGE, shortest(price)),)
        if self.changes and price > 0 and self.rng.often(0.1):
            prices = (*prices, (self._moment(), shortest(price + 10 * CENT)))
        return prices

    def _menu(
        self, number: int, name: str, sections: Sequence[tuple[str, Sequence[tuple[Product, Decimal]]]], change: Decimal
    ) -> Menu:
        menu_id = 500 + 10 * self.number + number
        groups = []
        price_id = 100 * menu_id * 10
        for position, (title, dishes) in enumerate(sections, 1):
            prices = []
            for place, (product, price) in enumerate(dishes, 1):
                price_id += 1
                now = max(price + change, Decimal(1))
                prices.append(
                    Price(
                        price_id=price_id,
                        product_id=product.product_id,
                        position=place,
                        channel=_CHANNELS[product.dispatch_method],
                        prices=self._prices(now),
                    )
                )
            groups.append(PriceGroup(menu_id * 100 + position, title, position, tuple(prices)))
        products = {product.product_id: product for _, dishes in sections for product, _ in dishes}
        return Menu(
            menu_id=menu_id,
            name=name,
            groups=tuple(groups),
            products=dict(sorted(products.items())),
            modifiers=_reachable(products.values(), self.modifiers),
            changes=tuple(sorted(self.moments)),
        )

    def _prices(self, price: Decimal) -> History[tuple[Decimal, Decimal]]:
        dearer = self.rng.pick((0, 0, 30, 50, 90)) * CENT
        prices: History[tuple[Decimal, Decimal]] = ((NO_CHANGE, (shortest(price), shortest(price + dearer))),)
        for moment in self.changes:
            if self.rng.often(0.12):
                self.moments.add(moment)
                price += self.rng.pick((20, 30, 50, 50, 80, -20)) * CENT
                prices = (*prices, (moment, (shortest(price), shortest(price + dearer))))
        return prices


def _reachable(products: Sequence[Product] | Any, modifiers: dict[int, Modifier]) -> dict[int, Modifier]:
    """Return the modifiers that these products open, directly or not."""
    found: dict[int, Modifier] = {}
    waiting = [reference.modifier_id for product in products for reference in product.choices]
    while waiting:
        modifier_id = waiting.pop()
        if modifier_id not in found:
            found[modifier_id] = modifiers[modifier_id]
            waiting.extend(reference.modifier_id for reference in modifiers[modifier_id].children)
    return dict(sorted(found.items()))
