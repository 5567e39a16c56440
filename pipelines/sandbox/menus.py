# ruff: noqa: E501 - a dish of a table is not broken over two lines
"""The dishes of the world's restaurants, and their menus as they stand at a time, with their histories."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeVar

ZERO = Decimal(0)
CENT = Decimal("0.01")


def shortest(amount: Decimal) -> Decimal:
    """Return the amount as services write it: 12.5 for 12.50, 10 for 10.00."""
    text = format(amount, "f")
    return Decimal(text.rstrip("0").rstrip(".")) if "." in text else amount


Kind = Literal["one", "some", "without"]


@dataclass(frozen=True, slots=True)
class Choice:
    """A modifier group: exactly one of its options is taken, some may be, or things may be left out.

    An option is (name, price, names of the choices that it opens).
    """

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
        return {
            "price_id": self.price_id,
            "product_id": self.product_id,
            "position": self.position,
            "channel": self.channel,
            "price": base,
            "delivery_price": delivered,
        }


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
        return {
            "menu": {
                "id": self.menu_id,
                "name": self.name,
                "price_groups": [
                    {
                        "id": group.group_id,
                        "name": group.name,
                        "position": group.position,
                        "prices": [price.document(moment) for price in group.prices],
                    }
                    for group in self.groups
                ],
            },
            "products": {
                str(product.product_id): {
                    "name": product.name,
                    "description": at(product.descriptions, moment),
                    "dispatch_method": product.dispatch_method,
                    "modifiers": [reference.document(moment) for reference in product.choices],
                }
                for product in self.products.values()
            },
            "modifiers": {
                str(modifier.modifier_id): {
                    "name": modifier.name,
                    "description": modifier.description,
                    "children": [reference.document(moment) for reference in modifier.children],
                }
                for modifier in self.modifiers.values()
            },
        }
