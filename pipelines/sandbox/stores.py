"""Found the world's stores, brands with menus and branches in towns, and meet its customers, with what they write.

All invented: e-mail domains are reserved for examples and telephone numbers use a block of their own. All towns pay in
euro, so one currency goes with eleven timezones: with and without daylight saving time, east and west of UTC.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeVar

from pipelines.sandbox.rng import Rng

# ruff: noqa: E501 - a dish of a table is not broken over two lines


ZERO = Decimal(0)
CENT = Decimal("0.01")


def shortest(amount: Decimal) -> Decimal:
    """Return the amount as services write it: 12.5 for 12.50, 10 for 10.00."""
    text = format(amount, "f")
    return Decimal(text.rstrip("0").rstrip(".")) if "." in text else amount


Kind = Literal["one", "some", "without"]


@dataclass(frozen=True, slots=True)
class Choice:
    """A modifier group: one option is taken, some, or left out. An option: name, price, the choices that it opens."""

    name: str
    kind: Kind
    options: tuple[tuple[str, str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Cuisine:
    """A kind of restaurant: its names, and sections of dishes, (name, price, names of choices)."""

    names: tuple[str, ...]
    sections: dict[str, tuple[tuple[str, str, tuple[str, ...]], ...]]


def _choice(name: str, kind: Kind, *options: str) -> Choice:
    """Read options from "name/price/choice,choice"."""
    rows = (option.split("/") for option in options)
    return Choice(name, kind, tuple((row[0], row[1], _names(row[2:])) for row in rows))


def _cuisine(names: str, **sections: str) -> Cuisine:
    """Read dishes from "name/price/choice,choice; …"; a section's name has _ for blanks."""
    dishes = {
        title.replace("_", " "): tuple(
            (row[0].strip(), row[1], _names(row[2:])) for row in (dish.split("/") for dish in text.split(";"))
        )
        for title, text in sections.items()
    }
    return Cuisine(tuple(names.split("|")), dishes)


def _names(cells: list[str]) -> tuple[str, ...]:
    return tuple(cells[0].split(",")) if cells else ()


CHOICES: dict[str, Choice] = {
    "size": _choice("Size", "one", "Small 24 cm/0.00", "Medium 28 cm/1.50/crust", "Large 32 cm/3.20/crust,half"),
    "crust": _choice("Crust", "one", "Thin/0.00", "Sourdough/1.00", "Stuffed/2.20/filling"),
    "filling": _choice("Filling of the crust", "one", "Mozzarella/0.00", "Gorgonzola/0.60", "'Nduja/0.90/heat"),
    "heat": _choice("How hot", "one", "Mild/0.00", "Hot/0.00", "Devilish 🌶/0.30"),
    "half": _choice("Second half", "some", "Half Diavola/1.10", "Half Ortolana/0.90"),
    "toppings": _choice(
        "Extra toppings", "some", "Rucola/0.90", "Prosciutto/2.10", "Burrata/2.95/burrata", "Capers/0.45"
    ),
    "burrata": _choice("Burrata", "one", "Classic/0.00", "Smoked/0.55"),
    "without": _choice("Leave out", "without", "No onions/0.00", "No garlic/0.00", "No sauce/0.00", "No cheese/0.00"),
    "patty": _choice("Patty", "one", "Beef 150 g/0.00/done", "Double beef/3.50/done", "Halloumi/0.80", "Plant/1.20"),
    "done": _choice("Cooked", "one", "Medium/0.00", "Well done/0.00"),
    "menu": _choice("Make it a menu", "some", "Fries and drink/4.20/fries,drink", "Salad and drink/4.90/drink"),
    "fries": _choice("Fries", "one", "Regular/0.00/dip", "Sweet potato/1.10/dip", "Truffle/1.75/dip"),
    "dip": _choice("Dip", "some", "Ketchup/0.30", "Aioli/0.60", "Chipotle mayo/0.60", "Vegan mayo/0.75"),
    "drink": _choice("Drink", "one", "Cola/0.00/ice", "Lemonade/0.35/ice", "Sparkling water/0.00"),
    "ice": _choice("Ice", "one", "With ice/0.00", "Without ice/0.00"),
    "burger_extras": _choice("Extras", "some", "Bacon/1.60", "Cheddar/0.95", "Fried egg/1.25", "Jalapeños/0.70"),
    "protein": _choice("Protein", "one", "Tofu/0.00", "Chicken/1.50", "Prawns/2.90", "Beef/2.40/done"),
    "spice": _choice("Spiciness", "one", "Not spicy/0.00", "A little/0.00", "Thai hot/0.00"),
    "rice": _choice("Side", "one", "Jasmine rice/0.00", "Brown rice/0.50", "Egg noodles/1.20"),
    "soy": _choice("Sauces", "some", "Soy sauce/0.00", "Gluten-free soy/0.40", "Wasabi/0.35", "Pickled ginger/0.35"),
    "base": _choice("Base", "one", "Sushi rice/0.00", "Quinoa/1.00", "Mixed leaves/0.00/dressing"),
    "dressing": _choice("Dressing", "one", "Sesame/0.00", "Yuzu/0.45", "Goma & chilli/0.45/heat"),
    "bread": _choice("Bread", "some", "Naan/2.50/naan", "Roti/1.90", "Papadam/1.10"),
    "naan": _choice("Naan with", "some", "Garlic/0.50", "Butter/0.30", "Cheese/1.10"),
    "milk": _choice("Milk", "one", "Whole/0.00", "Oat/0.50", "Almond/0.60"),
    "coffee": _choice("Coffee extras", "some", "Extra shot/0.80/roast", "Vanilla syrup/0.55", "Whipped cream/0.70"),
    "roast": _choice("Roast", "one", "House/0.00", "Decaf/0.00", "Single origin/0.40"),
    "taco": _choice("Tortilla", "one", "Corn/0.00", "Wheat/0.00", "Blue corn/0.65"),
    "salsa": _choice("Salsas", "some", "Verde/0.50", "Roja/0.50/heat", "Guacamole/1.85", "Crema/0.60"),
}

CUISINES: tuple[Cuisine, ...] = (
    _cuisine(
        "Pizzeria Bella Vista|Da Gino|Forno Rosso|La Stella",
        Pizza="Margherita/8.50/size,toppings,without; Diavola/10.90/size,toppings,without; Ortolana/10.20/size,toppings;"
        "Quattro formaggi/11.40/size,toppings; Prosciutto e funghi/11.80/size,toppings,without; Marinara/7.20/size,toppings;"
        "Tartufo/14.95/size",
        Pasta="Spaghetti carbonara/10.90/without; Penne all'arrabbiata/9.40/heat,without; Lasagne della casa/11.20",
        Starters="Bruschetta/5.20; Caprese/7.90/burrata; Focaccia/4.10/dip",
        Desserts="Tiramisù/5.40; Panna cotta/4.90; Gelato (2 scoops)/3.80",
        Drinks="Mineral water 0.5 l/2.40; Chinotto/3.20; Cola 0.33 l/2.90/ice; Lambrusco 0.2 l/4.95",
    ),
    _cuisine(
        "Burger & Sons|Smash Yard|Bun Intended|Grill 44",
        Burgers="Classic/8.90/patty,burger_extras,menu,without; Cheese/9.70/patty,burger_extras,menu,without;"
        "Bacon BBQ/11.20/patty,burger_extras,menu; Blue cheese/11.60/patty,burger_extras,menu; Chilli/10.40/patty,heat,menu;"
        "Kid's burger/6.50/menu",
        Sides="Fries/3.40/fries; Onion rings/4.20/dip; Coleslaw/2.80; Nuggets (6)/5.10/dip; Side salad/3.95/dressing",
        Drinks="Cola 0.5 l/3.60/ice; Milkshake vanilla/4.80; Milkshake chocolate/4.80; Craft lager/4.50",
        Sweets="Brownie/3.90; New York cheesecake/4.60",
    ),
    _cuisine(
        "Sushi Kawa|Tokyo Corner|Nami|Umi Bento",
        Nigiri="Salmon nigiri (2)/4.60/soy; Tuna nigiri (2)/5.40/soy; Eel nigiri (2)/5.90/soy; Tamago nigiri (2)/3.80/soy",
        Maki="Kappa maki (6)/3.60/soy; California roll (8)/8.90/soy,heat; Spicy tuna roll (8)/9.80/soy,heat; Rainbow roll/13.50/soy",
        Bowls="Salmon poke/12.90/base,soy; Tofu poke/11.40/base,soy; Chirashi/16.80/soy",
        Warm="Miso soup/3.20; Gyoza (6)/6.40/soy; Tonkotsu ramen/13.20/heat,without; Edamame/4.10",
        Drinks="Green tea/2.60; Ramune/3.90; Asahi 0.33 l/4.20",
    ),
    _cuisine(
        "Thai Orchid|Lemongrass|Baan Suan|Mekong Kitchen",
        Curries="Green curry/11.90/protein,spice,rice; Red curry/11.90/protein,spice,rice; Massaman/12.60/protein,rice;"
        "Panang/12.20/protein,spice,rice",
        Wok="Pad thai/11.20/protein,spice,without; Pad kra pao/11.80/protein,spice,rice; Cashew stir-fry/11.60/protein,rice",
        Starters="Spring rolls (4)/5.20; Chicken satay/6.80; Tom yum/6.40/protein,spice; Papaya salad/7.30/spice",
        Drinks="Thai iced tea/3.90/milk,ice; Singha/4.10; Coconut water/3.80",
    ),
    _cuisine(
        "Taj Palace|Masala House|Namaste|Curry & Co",
        Tandoori="Chicken tikka/12.40/spice,bread; Paneer tikka/11.30/spice,bread; Lamb seekh/13.60/spice,bread",
        Curries="Butter chicken/12.90/spice,rice,bread; Palak paneer/11.20/spice,rice,bread; Chana masala/9.90/spice,rice,bread;"
        "Lamb rogan josh/14.10/spice,rice,bread; Dal makhani/9.60/rice,bread",
        Breads="Naan/2.70/naan; Roti/2.10; Papadam (3)/2.40",
        Drinks="Mango lassi/3.90; Masala chai/2.90/milk; Kingfisher/4.10",
    ),
    _cuisine(
        "Café Central|Morning Glory|Kaffeehaus Süd|Pastelaria Flor",
        Coffee="Espresso/2.10/roast; Cappuccino/3.40/milk,coffee; Flat white/3.70/milk,coffee; Filter coffee/2.80/roast,milk",
        Breakfast="Avocado toast/8.40/burger_extras; Shakshuka/9.80/heat; Granola bowl/7.20/milk; Eggs Benedict/10.50/without",
        Bakery="Croissant/2.20; Pastel de nata/1.80; Cinnamon bun/3.30; Carrot cake/4.20; Sourdough loaf/5.95",
        Cold_drinks="Orange juice/4.10; Iced latte/4.30/milk,coffee,ice; Homemade lemonade/3.90/ice",
    ),
    _cuisine(
        "Taquería La Llorona|El Camino|Cantina Verde|Dos Hermanos",
        Tacos="Al pastor/4.20/taco,salsa,without; Carnitas/4.40/taco,salsa,without; Baja fish/4.90/taco,salsa; Nopales/3.80/taco,salsa",
        Burritos="Burrito pollo/9.60/salsa,without; Burrito carne/10.80/salsa,without,menu; Burrito frijoles/8.70/salsa,menu",
        Sides="Nachos/6.90/salsa,heat; Elote/4.10; Rice and beans/3.60; Churros/4.50/dip",
        Drinks="Jarritos lime/3.40; Horchata/3.60/ice; Agua fresca/3.20/ice; Michelada/5.80/heat",
    ),
)


T = TypeVar("T")
# What a thing was from which moment on, in seconds since 1970; the first entry holds from the beginning.
History = tuple[tuple[int, T], ...]


def at(history: History[T], moment: int) -> T:
    """Return what held at the moment."""
    value = history[0][1]
    for since, later in history[1:]:
        if since > moment:
            break
        value = later
    return value


@dataclass(frozen=True, slots=True)
class PlacedModifier:
    """A modifier in a place: below a product or below another modifier."""

    modifier_id: int
    position: int
    prices: History[Decimal]

    def document(self, moment: int) -> dict[str, Any]:
        """Return it as a menu shows it at the moment."""
        return {"modifier_id": self.modifier_id, "position": self.position, "price": at(self.prices, moment)}


@dataclass(frozen=True, slots=True)
class Modifier:
    """An option, or a group of options: then `kind` says how one chooses among its children."""

    modifier_id: int
    name: str
    description: str
    kind: Kind | None
    children: tuple[PlacedModifier, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """A dish or drink, with the choices that it opens."""

    product_id: int
    name: str
    descriptions: History[str]
    dispatch_method: str
    choices: tuple[PlacedModifier, ...]


@dataclass(frozen=True, slots=True)
class Price:
    """A product in a price group: (price, delivery price) over time."""

    price_id: int
    product_id: int
    position: int
    channel: str
    prices: History[tuple[Decimal, Decimal]]

    def document(self, moment: int) -> dict[str, Any]:
        """Return it as a menu shows it at the moment."""
        base, delivered = at(self.prices, moment)
        ids = {"price_id": self.price_id, "product_id": self.product_id}
        return {**ids, "position": self.position, "channel": self.channel, "price": base, "delivery_price": delivered}


@dataclass(frozen=True, slots=True)
class PriceGroup:
    """A section of a menu."""

    group_id: int
    name: str
    position: int
    prices: tuple[Price, ...]


@dataclass(frozen=True, slots=True)
class Menu:
    """A menu with everything that it refers to; `changes` are the moments at which it changes."""

    menu_id: int
    name: str
    groups: tuple[PriceGroup, ...]
    products: dict[int, Product]
    modifiers: dict[int, Modifier]
    changes: tuple[int, ...]

    def document(self, moment: int) -> dict[str, Any]:
        """Return the menu as the interface shows it, as it stood at the moment."""

        def shown(parts: Sequence[Price | PlacedModifier]) -> list[dict[str, Any]]:
            return [part.document(moment) for part in parts]

        groups = [
            {"id": each.group_id, "name": each.name, "position": each.position, "prices": shown(each.prices)}
            for each in self.groups
        ]
        products: dict[str, dict[str, Any]] = {}
        for each in self.products.values():
            own = products[str(each.product_id)] = {"name": each.name, "description": at(each.descriptions, moment)}
            own |= {"dispatch_method": each.dispatch_method, "modifiers": shown(each.choices)}
        modifiers = {
            str(one.modifier_id): {"name": one.name, "description": one.description, "children": shown(one.children)}
            for one in self.modifiers.values()
        }
        menu = {"id": self.menu_id, "name": self.name, "price_groups": groups}
        return {"menu": menu, "products": products, "modifiers": modifiers}


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
_MAILS = "{first}.{last}@example.com {first}{n}@example.org {last}.{first}@mail.example".split()
_MAILS += ["{first}_{last}@example.net"]
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
    name, address = f"{first} {last}", f"{street} {house}, {town.name}"
    apartment = rng.pick(_APARTMENTS).format(n=rng.between(1, 60), last=last)
    latitude = town.latitude + Decimal(rng.between(-30_000, 30_000)).scaleb(-6)
    longitude = town.longitude + Decimal(rng.between(-30_000, 30_000)).scaleb(-6)
    notes = tuple(note.format(first=first, last=last, phone=phone) for note in NOTES[town.speech])
    return SandboxCustomer(name, phone, email, address, apartment, latitude, longitude, notes)


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
        town, menu_ids = self.town, [menu.menu_id for menu in self.menus]
        head = {"id": self.store_id, "name": at(self.names, moment), "timezone": town.timezone, "currency": "EUR"}
        address = {"street": self.address, "city": town.name}
        place = {"latitude": town.latitude, "longitude": town.longitude, "accepts_pick_up": True}
        return {**head, "menu_ids": menu_ids, "phone": self.phone, "address": address, **place}


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
        store_id, address = 101 + 7 * number + rng.below(5), f"{street} {rng.between(1, 140)}"
        phone, weight, late = f"{town.phone} 555 9{number:04d}", 0.4 + 1.6 * rng.random(), rng.often(0.3)
        founded.append(SandboxStore(store_id, names, town, address, phone, menus, weight, late))
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
                method = self.rng.weighted([(16, "both"), (2, "pick_up"), (1, "store_delivery")])
                offered = tuple(
                    PlacedModifier(self._modifier(choice), position, ((NO_CHANGE, Decimal(0)),))
                    for position, choice in enumerate(choices, 1)
                )
                product = Product(first, name, descriptions, method, offered)
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
                channel = _CHANNELS[product.dispatch_method]
                prices.append(Price(price_id, product.product_id, place, channel, self._prices(now)))
            groups.append(PriceGroup(menu_id * 100 + position, title, position, tuple(prices)))
        products = {product.product_id: product for _, dishes in sections for product, _ in dishes}
        modifiers, changes = _reachable(products.values(), self.modifiers), tuple(sorted(self.moments))
        return Menu(menu_id, name, tuple(groups), dict(sorted(products.items())), modifiers, changes)

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
        if (modifier_id := waiting.pop()) not in found:
            found[modifier_id] = modifiers[modifier_id]
            waiting.extend(reference.modifier_id for reference in modifiers[modifier_id].children)
    return dict(sorted(found.items()))
