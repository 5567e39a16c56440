"""Read what selects read and give, and write those that follow from declarations.

Read from a select which tables and columns it reads, and which columns it gives.

A row that is given whole to a function of `sql/functions/` is read by the names in that function; one that is used
whole in any other way is read with all of its columns.

Fill templates, and generate the selects that follow from the shape of documents or are declared.

Templates are selects of `sql/templates/` that several tables or checks share but for names. Generated are the profile
of every field, and the checks that core tables lost nothing of a document; `HELD` says which core table holds the
objects of a document at each path. A documented field that no table has a column for is landed and typed, and shown
nowhere else. Declared, in `sql/comparisons.toml`, are the claims that two relations hold the same amounts: both sides
are added up by the keys, the other side with the opposite sign, and keys whose sums are not zero are violations. Those
read no select of a table, so that a fault in one is not repeated here.
"""

import contextlib
import functools
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, Literal

import duckdb
import msgspec

from pipelines.landing.shape import COUNTS, FIELDS, PRICES, SHAPES, SUMS, ArrayField, Field, MapField, read_sql
from pipelines.literals import literal
from pipelines.resources import fingerprint, keep, read_kept, resource
from pipelines.settings.kinds import ENTITIES, WHOLE_KINDS
from pipelines.warehouse.contracts import CLAIM, CatalogueError, TableHead


@dataclass(frozen=True)
class Reads:
    """What a select reads: tables with a schema, and a superset of the columns it names.

    `stars` are the tables of which it takes all columns; `columns` those that it gives, () if its text names not all.
    """

    tables: tuple[str, ...]
    names: frozenset[str]
    stars: frozenset[str]
    columns: tuple[str, ...] = ()


class _Kept(dict[str, Reads]):
    """What selects read, by their hash, as kept on disk for this DuckDB and this code."""

    def __init__(self) -> None:
        self.of = fingerprint(duckdb.__version__, Path(__file__), *_functions().values())
        self.is_new = False
        with contextlib.suppress(msgspec.DecodeError):
            super().__init__(msgspec.json.decode(read_kept("reads", self.of) or b"{}", type=dict[str, Reads]))


@functools.cache
def _kept() -> _Kept:
    return _Kept()


def keep_reads() -> None:
    """Keep on disk what selects read, if any of them was not kept yet: parsing all of them takes most of a second."""
    if _kept().is_new:
        keep("reads", _kept().of, msgspec.json.encode(dict(_kept())))
        _kept().is_new = False


@functools.cache
def reads(sql: str) -> Reads:
    """Return what a select reads."""
    of = hashlib.sha256(sql.encode()).hexdigest()
    if of not in _kept():
        _kept()[of] = _parsed(sql)
        _kept().is_new = True
    return _kept()[of]


def _parsed(sql: str) -> Reads:
    tree = tree_of(sql)
    nodes = list(dicts(tree))
    base = [n for n in nodes if n.get("type") == "BASE_TABLE" and n.get("schema_name")]
    called = [n for n in nodes if n.get("class") == "FUNCTION" and n["function_name"] in _functions()]
    # DuckDB 2 names arguments otherwise, and wraps each
    wrapped = [each["expression"] for call in called for each in call.get("arguments", ())]
    given = {id(each) for each in (*wrapped, *(each for call in called for each in call.get("children", ())))}
    selects = [n for n in nodes if n.get("type") == "SELECT_NODE"]
    whole = {id(each) for select in selects for each in _whole(select, base, given)}
    has_pivot = any(n.get("type") == "PIVOT" for n in nodes)  # groups by whatever columns there are
    names = frozenset(_strings(tree)).union(*(_names_in_function(each["function_name"]) for each in called))
    stars = frozenset(_name(n) for n in base if has_pivot or id(n) in whole)
    return Reads(tuple(sorted({_name(n) for n in base})), names, stars, _given(tree["statements"][0]["node"]))


def _given(node: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the columns that a select gives; () where its text does not name each."""
    while node["type"] == "SET_OPERATION_NODE":
        node = node["left"] or node["children"][0]  # children: from DuckDB 2.0 on
    items = node.get("select_list", [])
    if len(items) == 1 and items[0]["class"] == "STAR" and node["from_table"]["type"] == "SUBQUERY":
        subquery = node["from_table"]["subquery"]
        return _given(subquery.get("node") or subquery)
    names = [each["alias"] or (each["column_names"][-1] if each["class"] == "COLUMN_REF" else "") for each in items]
    return tuple(names) if all(names) else ()


def _whole(select: dict[str, Any], base: list[dict[str, Any]], given: set[int]) -> Iterator[dict[str, Any]]:
    """Yield the tables, each a node, of which a select by itself takes all columns, or rows as they are.

    `base` are the tables of the whole statement, `given` the ids of nodes that are rows given to functions.
    """
    scope = list(within(select))
    from_here = [n for n in scope if n.get("type") in ("BASE_TABLE", "SUBQUERY")]
    here, ids = {_alias(n) for n in from_here}, {id(n) for n in from_here}
    named = {n["relation_name"] for n in scope if n.get("class") == "STAR"}
    lone = [n["column_names"] for n in scope if n.get("class") == "COLUMN_REF" and id(n) not in given]
    named |= {names[0] for names in lone if len(names) == 1}
    for table in base:
        if id(table) in ids:
            if named & {"", _alias(table)}:
                yield table
        elif _alias(table) in named - here:  # of a select around this one
            yield table


@functools.cache
def _parser() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


@functools.cache
def functions_of(condition: str) -> frozenset[str]:
    """Return the names of DuckDB's functions under a condition."""
    found = _parser().cursor().execute(f"select distinct function_name from duckdb_functions() where {condition}")
    return frozenset(str(row[0]) for row in found.fetchall())


@functools.cache
def _functions() -> dict[str, Path]:
    """Return the file of each function of a build, by its name."""
    return {path.stem: path for path in sorted((resource("sql") / "functions").glob("*.sql"))}


@functools.cache
def _names_in_function(name: str) -> frozenset[str]:
    tree = tree_of(f"select {read_sql(_functions()[name])}")
    called = {n["function_name"] for n in dicts(tree) if n.get("class") == "FUNCTION"} & _functions().keys() - {name}
    return frozenset(_strings(tree)).union(*(_names_in_function(each) for each in called))


def tree_of(sql: str) -> dict[str, Any]:
    """Return a select as DuckDB parses it; raise CatalogueError unless it is one."""
    # no parameter: DuckDB imports pandas to bind one, which takes longer than all else here
    row = _parser().cursor().execute(f"select json_serialize_sql({literal(sql)})").fetchone()
    tree: dict[str, Any] = json.loads(row[0]) if row else {"error": True}
    if tree["error"]:
        place = str(tree.get("position", ""))
        line = f" (line {sql.count(chr(10), 0, int(place)) + 1})" if place.isdigit() else ""
        raise CatalogueError(f"not one select: {tree.get('error_message', '')}{line}")
    return tree


def _alias(node: dict[str, Any]) -> str:
    return str(node["alias"] or node.get("table_name", ""))


def within(node: Any) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a select that are in none of its inner selects."""
    for value in node.values() if isinstance(node, dict) else node:
        if isinstance(value, dict) and value.get("type") != "SELECT_NODE":
            yield value
            yield from within(value)
        elif isinstance(value, list):
            yield from within(value)


def _name(node: dict[str, Any]) -> str:
    return f"{node['schema_name']}.{node['table_name']}"


def dicts(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every mapping in a tree."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for value in node:
            yield from dicts(value)


def _strings(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    values = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for value in values:
        yield from _strings(value)


_SOLD = {
    "product": ("core.order_lines", "'line ' || sold.line_no"),
    "modifier": ("core.order_line_modifiers", "'line ' || sold.line_no || ', modifier ' || sold.modifier_no"),
}


def references_a_menu(entity: str) -> str:
    """Return the check that every ordered product, or modifier, is on a menu."""
    sold, location = _SOLD[entity]
    return filled("references_a_menu", entity=entity, sold=sold, location=location)


def completed(name: str, text: str, head: TableHead) -> str:
    """Return the select of a table whose head names a template; that of another is its file.

    `template: raw` has none: it takes the columns that the head lists out of the table's namesake in schema raw.
    `template: name` puts the file's select in place of `$select`, and its key but for the last column in place of
    `$place`; `template: name with column` tells records at one place apart. `template: name of table` has none: `$of`
    is the select of that table of menus, over every version instead of the last. A place in a menu is the rest of the
    key, and what is said of it are the other columns that the head names, but for lineage.
    """
    template, _, of = head.facts.get("template", "").partition(" of ")
    if not template:
        return text
    if template == "raw":
        return f"{text}select {', '.join(said.name for said in head.said)} from raw.{name.partition('.')[2]}"
    if not of:
        template, _, record = template.partition(" with ")
        place, named = ", ".join(head.names("key")[:-1]), f"record as {record}," if record else ""
        return filled(template, table=name, select=text, place=place, record=record or "null", named=named)
    schema, _, table = of.partition(".")
    last = read_sql(resource("sql") / schema / f"{table}.sql")
    each = last.replace("raw.latest_menus", "raw.menu_versions").replace("_load_id", "version_no")
    keys = [key for key in head.names("key") if key not in ("menu_id", "version_no")]
    contents = [said.name for said in head.said if said.name not in (*keys, "_load_id")]
    structs = {"place": _struct(keys), "content": _struct(contents)}
    fields = {"places": _fields("place", keys), "contents": _fields("content", contents)}
    return filled(template, table=name, of=each, **structs, **fields)


def filled(template: str, **values: str) -> str:
    """Return a file of `sql/templates/` with these values in the place of `$name`."""
    file = resource("sql") / "templates" / f"{template}.sql"
    return Template(read_sql(file)).substitute(values)


def _struct(columns: list[str]) -> str:
    return "{" + ", ".join(f"'{column}': t.{column}" for column in columns) + "}"


def _fields(struct: str, columns: list[str]) -> str:
    return ", ".join(f"runs.{struct}.{column} as {column}" for column in columns)


@dataclass(frozen=True)
class Held:
    """The table of the objects at one path, its name of their own id, and which of its rows they are."""

    table: str
    id_column: str = ""
    where: str = "true"

    def column(self, name: str) -> str | None:
        """Return the column of a field of the typed document; None if the table has none."""
        column = self.id_column if name == "id" else name
        schema, _, table = self.table.partition(".")
        select = read_sql(resource("sql") / schema / f"{table}.sql")
        return column if column in reads(select).columns else None


HELD: dict[str, dict[str, Held]] = {
    "stores": {"": Held("core.stores", "store_id")},
    "orders": {
        "": Held("core.orders", "order_id"),
        "/items/*": Held("core.order_lines", "line_id"),
        "/items/*/modifiers/*": Held("core.order_line_modifiers", "modifier_id"),
        "/deliveries/*": Held("core.order_deliveries", "delivery_id"),
    },
    "menus": {
        "/menu": Held("core.menus", "menu_id"),
        "/menu/price_groups/*": Held("core.price_groups", "price_group_id"),
        "/menu/price_groups/*/prices/*": Held("core.menu_prices"),
        "/products/*": Held("core.products"),
        "/modifiers/*": Held("core.modifiers"),
        "/products/*/modifiers/*": Held("core.modifier_edges", where="facts.parent_type = 'product'"),
        "/modifiers/*/children/*": Held("core.modifier_edges", where="facts.parent_type = 'modifier'"),
    },
}


def held_fields(kind: str) -> dict[str, dict[Field, str]]:
    """Return path → field → column, of the fields that core tables have; of a hidden one the column of has_<name>."""
    objects = FIELDS[kind].objects()
    found: dict[str, dict[Field, str]] = {}
    for path, held in HELD[kind].items():
        names = ((field, f"has_{field.name}" if field.is_hidden else field.name) for field in objects[path].leaves)
        found[path] = {field: column for field, name in names if (column := held.column(name))}
    return found


# The letter names the measure: i integer, m money, t length of a text, d microseconds of a time; of values in the vault
# whether it is there and not empty: h a text, g a number.
_MEASURES = {
    "integer": ("i", "facts.{}"), "money": ("m", "facts.{}"), "text": ("t", "length(facts.{})"),
    "time": ("d", "epoch_us(facts.{})"),
}  # fmt: skip
_HIDDEN = {"text": "h", "number": "g"}


def daily_field_values() -> str:
    """Return the select of workings.daily_field_values."""
    return _field_values("orders", "order_id", "business_date,", "mart.orders", "business_date")


def field_values() -> str:
    """Return the select of workings.field_values: of the kinds that are not kept by day."""
    names = ((kind, f"{ENTITIES[kind]}_id", f"'{kind}' as kind,", f"core.{kind}") for kind in WHOLE_KINDS)
    return "\nunion all\n".join(f"({_field_values(*each)})" for each in names)


def _field_values(kind: str, entity: str, first: str, documents: str, day: str = "") -> str:
    """Return the select that measures each level of the document apart, by day if it has one; `first`: its key's."""
    by, but = (f"{day},", f"(* exclude ({day}))") if day else ("", "(*)")
    levels, measures = [], []
    for number, (path, columns) in enumerate(held_fields(kind).items()):
        held = HELD[kind][path]
        values = ",\n        ".join(_value(path, field, column) for field, column in columns.items())
        level = {"number": str(number), "values": values, "table": held.table, "where": held.where}
        level |= {"documents_by": f"documents.{by}" if day else "", "by": by, "entity": entity}
        group = f"group by {day}" if day else "having count(*) > 0"
        levels.append(filled("field_values_of_level", group=group, **level))
        measures.append(f"select {by} field, m, from measured_{number} unpivot include nulls (m for field in {but})")
    parts = {"levels": "".join(levels), "measures": "\n    union all\n    ".join(measures)}
    return filled("field_values", first=first, by=by, entity=entity, documents=documents, **parts)


def _value(path: str, field: Field, column: str) -> str:
    letter, value = (_HIDDEN[field.leaf], "cast(facts.{} as bigint)") if field.is_hidden else _MEASURES[field.leaf]
    return f'{value.format(column)} as "{letter}{path}/{field.name}"'


def match_validation(kind: str) -> str:
    """Return the check of one kind; of each document it reports the first difference."""
    entity, key = ENTITIES[kind], f"{ENTITIES[kind]}_id"
    own = next(iter(HELD[kind]))  # the path of the document's own row
    arrays = ((path, each) for path, each in SHAPES[kind].walk() if isinstance(each, ArrayField | MapField))
    counted = {f"{path}/{each.name}/*": each.counted_as for path, each in arrays}
    amounts: dict[str, list[str]] = {}
    parts, joins, counts = [], [], {}
    for number, (path, columns) in enumerate(held_fields(kind).items()):
        held, alias = HELD[kind][path], "own" if path == own else f"part_{number}"
        money = [(field.adds_to, column) for field, column in columns.items() if field.leaf == "money"]
        for adds_to, column in money:
            # a missing amount adds nothing, here as in validation; wider than an amount, so that no sum overflows
            amounts.setdefault(adds_to, []).append(f"coalesce(cast({alias}.{column} as decimal(38, 4)), 0)")
        if path != own:
            counts[counted[path]] = f"coalesce({alias}.elements, 0)"
            sums = "".join(f", sum(facts.{column}) as {column}" for _, column in money)
            parts.append(
                f"{alias} as (\n    select {key}, count(*) as elements{sums}\n"
                f"    from {held.table} as facts where {held.where} group by {key}\n),"
            )
            joins.append(f"    left join {alias} on latest.{key} = {alias}.{key}")
    differences = [
        *(_difference(name, counts[name], is_count=True) for name in COUNTS[kind]),
        *(_difference(name, " + ".join(amounts.get(name, ["0"])), is_count=False) for name in SUMS[kind]),
    ]
    texts = {"lines": "\n".join(parts), "joins": "\n".join(joins), "differences": ", ".join(differences)}
    return filled("match_validation", entity=entity, key=key, kind=kind, own=HELD[kind][own].table, **texts)


def _difference(name: str, held: str, *, is_count: bool) -> str:
    difference = f"cast({held} - latest.validated_{name} as decimal(38, 4))"
    location = name.replace("_", " ")
    return f"{{'location': '{location}', 'difference': {difference}, 'is_count': {str(is_count).lower()}}}"


def claims_of(table: str, head: TableHead) -> dict[str, str]:
    """Return each check that a table's head declares, by name, as a file of `sql/checks/` would state it."""
    key = head.names("key")
    found = {}
    for fact, claim in head.facts.items():
        if said := CLAIM.fullmatch(fact):
            columns = said["columns"]
            stated = [column for column in columns.split(", ") if column not in key]
            others = f"select {columns} from {table} group by all having count(*) > 1"
            words = {each: each.replace("_", " ") for each in (*key, *stated)}
            if said["other"]:
                words = {each: word.removesuffix(" id") for each, word in words.items()}
            details = [f"'{words[each]} ' || t.{each} as detail," for each in stated]
            places = [f"'{re.sub(' (id|no)$', '', words[each])} ' || t.{each}" for each in key[1:]]
            join = f"anti join {said['other']} as other" if said["other"] else f"semi join ({others}) as repeated"
            location = " || ', ' || ".join(places) or f"'{stated[0]}'"
            about = {"claim": claim, "severity": said["severity"], "entity": key[0], "location": location}
            about |= {"detail": "".join(details), "table": table, "join": join, "columns": columns}
            is_stated = " and ".join(f"t.{each} is not null" for each in stated) or "true"
            found[f"{table}__{said['name']}"] = filled("claim", stated=is_stated, **about)
    return found


FILE = resource("sql") / "comparisons.toml"
_ENTITIES = ("order_id", "store_id")


@functools.cache
def comparisons(kind: Literal["checks", "ties"]) -> dict[str, str]:
    """Return each declared check, or tie, by name, as a file of `sql/checks/` would state it."""
    declared = tomllib.loads(FILE.read_text(encoding="utf-8"))[kind]
    head = "-- {}\n-- severity: blocking\n" + ("-- scope: all\n" if kind == "ties" else "")
    return {name: _select(head.format(what["claim"]), name, what) for name, what in declared.items()}


def _select(head: str, name: str, what: dict[str, Any]) -> str:
    listed = what["keys"], what.get("same", []), what.get("sums", ["rows"])
    keys, same, sums = map(_columns, listed)
    if keys.keys() & same.keys() or (keys | same).keys() & sums.keys():
        raise CatalogueError(f"comparisons.toml: {name} has two columns of the same name")
    sides = []
    for side, (sign, relation) in enumerate((("", name.partition("__")[0]), ("-", what["other"]))):
        columns = [f"{pair[side]} as {column}" for column, pair in (keys | same).items()]
        if "sums" in what:
            # coalesce: an unknown amount adds nothing; the cast gives whole numbers and amounts one type
            added = "{}coalesce(cast(sum({}) as decimal(38, 4)), 0) as {}"
            columns += [added.format(sign, pair[side], each) for each, pair in sums.items()]
        else:
            columns += [f"{sign}1 as rows"]
        grouping = " group by all" if "sums" in what else ""  # of one row each, grouping once is enough
        sides.append(f"select {', '.join(columns)} from {relation}{grouping}")
    entity = next((key for key in keys if key in _ENTITIES), "cast(null as bigint)")
    places = ", ".join(f"coalesce('{key} ' || {key}, 'no {key}')" for key in keys if key not in _ENTITIES) or "'all'"
    details = ", ".join(f"if(sum({each}) <> 0, '{each} off by ' || sum({each}), null)" for each in sums)
    grouped, differs = ", ".join(keys | same) or "all", " or ".join(f"sum({each}) <> 0" for each in sums)
    said = {"places": places, "details": details, "grouped": grouped, "differs": differs}
    return head + filled("comparison", sides=" union all ".join(sides), entity=entity, **said)


def _columns(declared: list[str]) -> dict[str, tuple[str, str]]:
    """Return the two sides' expressions of each column, by its name."""
    columns: dict[str, tuple[str, str]] = {}
    for column in [name for each in declared for name in (PRICES if each == "prices" else (each,))]:
        left, _, right = column.partition(" = ")
        left, _, name = left.partition(" as ")
        name = name or next((side for side in (left, right) if side.isidentifier()), "")
        if not name or name in columns:
            raise CatalogueError(f"comparisons.toml: {column!r} needs a name of its own")
        columns[name] = ("1" if left == "rows" else left, "1" if (right or left) == "rows" else right or left)
    return columns
