"""The documented shape of each kind of document (interface section 2): the only declaration of its fields.

Validation, the typed documents of a build, the comparison of versions, the field profile and the OpenAPI document are
derived from it.

The amounts that an order states, in one list: documents, tables, formula, ledger and reports read it.

A line of SQL that names `$price` stands for as many lines, one for each amount, and one that names `$optional` for
those alone that the first release did not know: with `$label`, or with `${sign}` of those that the total counts, and
`$no`. `$prices` in brackets are the names of all, as texts. A line `$closes_of days` stands for the joins of
`sql/templates/closes_of.sql`: what closed the store's day of each row of `days`.
"""

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from string import Template
from textwrap import indent
from typing import Literal, NamedTuple

from pipelines.resources import resource

FIRST = "0.1.0"


class Charge(NamedTuple):
    """An amount of an order that may be part of its total.

    Of those of the first release the orders show how often the total counts them, and one that is null is unknown. An
    order may lack a later one: null adds nothing then, and the total counts it as its sign says.
    """

    name: str
    label: str
    sign: Literal[1, -1]  # how often it counts in the total, as far as is known
    part_of: Literal["total", ""] = "total"  # "": stated, but no part of the total
    since: str = FIRST  # the release that knows it first


CHARGES = (
    Charge("subtotal_price", "subtotal", 1),
    Charge("delivery_price", "delivery", 1),
    Charge("tip", "tip", 1),
    Charge("discount", "discount", -1),
    Charge("loyalty_discount", "loyalty discount", -1),
)
TOTAL = "total_price"
OPTIONAL = tuple(charge for charge in CHARGES if charge.since != FIRST)
PRICES = (*(charge.name for charge in CHARGES), TOTAL)
REQUIRED_PRICES = tuple(name for name in PRICES if name not in {charge.name for charge in OPTIONAL})
_PRICE_MARK = re.compile(r"\$price\b")
_CLOSES = re.compile(r"^(?P<indent> *)\$closes_of (?P<of>\w+)(?: in (?P<closes>[\w.]+))?$", re.MULTILINE)
_LIST = re.compile(r"\((?P<before>[^()]*)\$prices(?P<after>[^()]*)\)")


def read_sql(path: Path) -> str:
    """Return the text of a file of sql/, as it is run: with a line for each amount, and the joins of closes."""
    return expanded(path.read_text(encoding="utf-8"))


@functools.cache
def currency_decimals(currency: str | None) -> int:
    """Return the decimals of a currency's smallest unit; two where the currency is not known."""
    if not currency:
        return 2
    import duckdb  # noqa: PLC0415 -- slow, and a status has no money

    expression = read_sql(resource("sql") / "functions" / "currency_digits.sql")
    asked = f"select {expression} from (select ? as currency)"
    with duckdb.connect(":memory:") as con:
        row = con.execute(asked, [currency]).fetchone()
    return int(row[0]) if row else 2


def expanded(sql: str) -> str:
    """Return a text of SQL with what its lines that name `$price`, `$optional` or `$closes_of` stand for."""
    if "$" not in sql:
        return sql
    lines: list[str] = []
    for line in _LIST.sub(_with_prices, _CLOSES.sub(_joins, sql)).split("\n"):
        if _PRICE_MARK.search(line):
            lines += [_PRICE_MARK.sub(name, line) for name in PRICES]
        elif "$optional" in line or "${optional}" in line:
            for number, charge in enumerate(OPTIONAL, 1):
                if charge.part_of or "${sign}" not in line:
                    sign = "-" if charge.sign < 0 else ""
                    said = {"optional": charge.name, "label": charge.label, "sign": sign, "no": 1000 + number}
                    lines.append(Template(line).substitute(said))
        else:
            lines.append(line)
    return "\n".join(lines)


def _joins(found: re.Match[str]) -> str:
    template = (resource("sql") / "templates" / "closes_of.sql").read_text(encoding="utf-8")
    closes = found["closes"] or "raw.day_closes"
    return indent(Template(template.rstrip("\n")).substitute(of=found["of"], closes=closes), found["indent"])


def _with_prices(found: re.Match[str]) -> str:
    """Return a list of words with the amounts among them, in the order of the alphabet."""
    words = [*re.findall(r"'[^']*'", found["before"] + found["after"]), *(f"'{name}'" for name in PRICES)]
    return f"({', '.join(sorted(words))})"


Leaf = Literal["integer", "text", "time", "money", "number"]


class Field(NamedTuple):
    """A field that holds one value."""

    name: str
    leaf: Leaf  # number: of personal fields only
    personal: bool = False  # encrypted in the vault, replaced by `has_<name>`
    free: bool = False  # personal unless settings name it in plaintext_fields
    required: bool = False  # neither null nor absent
    adds_to: str = ""  # the sum it is part of
    is_optional: bool = False  # documents of before it was documented lack it

    @property
    def is_hidden(self) -> bool:
        """Whether the canonical document says `has_<name>`, and has the value only if settings allow it."""
        return self.personal or self.free


class ArrayField(NamedTuple):
    """A field that holds an array of objects."""

    name: str
    of: "Shape"
    counted_as: str


class MapField(NamedTuple):
    """A field that holds an object whose keys are ids."""

    name: str
    of: "Shape"
    counted_as: str


class ObjectField(NamedTuple):
    """A field that holds an object."""

    name: str
    of: "Shape"
    required: bool = False


AnyField = Field | ArrayField | MapField | ObjectField


class Shape(NamedTuple):
    """An object: its fields in the interface's order."""

    fields: tuple[AnyField, ...]

    @property
    def names(self) -> frozenset[str]:
        """The names of all fields."""
        return frozenset(field.name for field in self.fields)

    @property
    def leaves(self) -> tuple[Field, ...]:
        """The fields that hold one value."""
        return tuple(field for field in self.fields if isinstance(field, Field))

    def walk(self, path: str = "") -> Iterator[tuple[str, AnyField]]:
        """Yield every field with the path of its object, `*` for the elements of arrays and maps; parents first."""
        for field in self.fields:
            yield path, field
            if isinstance(field, ObjectField):
                yield from field.of.walk(f"{path}/{field.name}")
            elif not isinstance(field, Field):
                yield from field.of.walk(f"{path}/{field.name}/*")

    def objects(self) -> "dict[str, Shape]":
        """Return every object of a document by its path, itself first."""
        below = {
            f"{path}/{field.name}" + ("" if isinstance(field, ObjectField) else "/*"): field.of
            for path, field in self.walk()
            if not isinstance(field, Field)
        }
        return {"": self, **below}


def _object(*fields: AnyField) -> Shape:
    return Shape(fields)


_ORDER_MODIFIER = _object(
    Field("id", "integer"),
    Field("name", "text"),
    Field("price", "money", adds_to="modifier_money"),
    Field("action", "text"),
    Field("quantity", "integer"),
)
_ITEM = _object(
    Field("id", "integer"),
    Field("product_id", "integer"),
    Field("quantity", "integer"),
    Field("name", "text"),
    Field("instructions", "text", free=True),
    Field("price", "money", adds_to="line_money"),
    ArrayField("modifiers", _ORDER_MODIFIER, "modifiers"),
)
_DELIVERY = _object(
    Field("id", "integer"),
    Field("type", "text"),
    Field("confirmation_code", "text", free=True),
    Field("status", "text"),
    Field("tracking_url", "text", free=True),
)
ORDER = _object(
    Field("id", "integer", required=True),
    Field("user_phone", "text", personal=True),
    Field("user_email", "text", personal=True),
    Field("user_address", "text", personal=True),
    Field("user_name", "text", personal=True),
    Field("apartment_details", "text", personal=True),
    Field("user_latitude", "number", personal=True),
    Field("user_longitude", "number", personal=True),
    Field("dispatch_note", "text", free=True),
    Field("dispatch_method", "text"),
    Field("store_id", "integer"),
    Field("status", "text"),
    Field("platform", "text"),
    Field("requested_time", "time"),
    Field("promised_delivery_time", "time"),
    Field("promised_pick_up_time", "time"),
    Field("created_at", "time"),
    *(Field(name, "money", adds_to="order_money", is_optional=name not in REQUIRED_PRICES) for name in PRICES),
    ArrayField("items", _ITEM, "lines"),
    ArrayField("deliveries", _DELIVERY, "deliveries"),
)

_PRICE = _object(
    Field("price_id", "integer"),
    Field("product_id", "integer", required=True),
    Field("position", "integer"),
    Field("channel", "text"),
    Field("price", "money", adds_to="price_money"),
    Field("delivery_price", "money", adds_to="delivery_price_money"),
)
_PRICE_GROUP = _object(
    Field("id", "integer"), Field("name", "text"), Field("position", "integer"), ArrayField("prices", _PRICE, "prices")
)
_REFERENCE = _object(
    Field("modifier_id", "integer", required=True),
    Field("position", "integer"),
    Field("price", "money", adds_to="reference_money"),
)
_PRODUCT = _object(
    Field("name", "text"),
    Field("description", "text"),
    Field("dispatch_method", "text"),
    ArrayField("modifiers", _REFERENCE, "product_references"),
)
_MODIFIER = _object(
    Field("name", "text"), Field("description", "text"), ArrayField("children", _REFERENCE, "child_references")
)
MENU = _object(
    ObjectField(
        "menu",
        _object(
            Field("id", "integer", required=True),
            Field("name", "text"),
            ArrayField("price_groups", _PRICE_GROUP, "price_groups"),
        ),
        required=True,
    ),
    MapField("products", _PRODUCT, "products"),
    MapField("modifiers", _MODIFIER, "modifiers"),
)

# The fields that are read of a store's record. It has no documented shape: settings say where in it these fields are.
STORE = _object(
    Field("id", "integer", required=True), Field("name", "text"), Field("timezone", "text"), Field("currency", "text")
)

SHAPES: dict[str, Shape] = {"menus": MENU, "orders": ORDER}
FIELDS: dict[str, Shape] = {"stores": STORE, **SHAPES}
# Where a document has its own id: the first field that must be there.
ID_POINTERS: dict[str, str] = {
    kind: next(f"{path}/{f.name}" for path, f in shape.walk() if isinstance(f, Field) and f.required)
    for kind, shape in SHAPES.items()
}


def _counts(shape: Shape) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f.counted_as for _, f in shape.walk() if isinstance(f, ArrayField | MapField)))


def _sums(shape: Shape) -> tuple[str, ...]:
    money = [field for _, field in shape.walk() if isinstance(field, Field) and field.leaf == "money"]
    if lone := [field.name for field in money if not field.adds_to]:
        raise ValueError(f"{lone[0]}: every amount is part of a sum that a build checks; set adds_to")
    return tuple(dict.fromkeys(field.adds_to for field in money))


# What validation counts and adds up, so that a build can prove that it lost nothing.
COUNTS: dict[str, tuple[str, ...]] = {kind: _counts(of) for kind, of in SHAPES.items()} | {"stores": ("menu_ids",)}
SUMS: dict[str, tuple[str, ...]] = {kind: _sums(shape) for kind, shape in SHAPES.items()} | {"stores": ()}
