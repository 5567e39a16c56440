"""Tell whether a select can be made for some days or orders alone: each of its rows comes of rows of one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue.partitions import BUSINESS, partition_of
from pipelines.warehouse.catalogue.reads import dicts, functions_of
from pipelines.warehouse.contracts import SCOPE_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIMITS = ("LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER")


def is_scoped(table: str, scope: str) -> bool:
    """Tell whether a table's rows are each of one day or order, so that some of them can be left out."""
    found = next((each for each in catalogue.released() if each.name == table), None)
    return found is not None and (found.scope == "order" or (scope == "day" and partition_of(found) == BUSINESS))


def why_not(tree: dict[str, Any], scope: str) -> str:
    """Return why the rows of a select do not each come of one day or order; "" if they do."""
    key = SCOPE_KEYS[scope]
    ties = {"order_id", key}  # an order has one day
    top = [tree["statements"][0]["node"]]
    while top[0]["type"] == "SET_OPERATION_NODE":
        top = [*(top[0][side] for side in ("left", "right")), *top[1:]]
    if not all(any(_name(each) == key for each in node.get("select_list", ())) for node in top):
        return f"it does not give {key} by name"
    return next((why for node in dicts(tree) if (why := _why_not(node, key, ties, scope))), "")


def _why_not(node: dict[str, Any], key: str, ties: set[str], scope: str) -> str:
    """Return why a part of a select brings rows of several days or orders together; "" if it does not."""
    kind, which = node.get("type"), node.get("class")
    named = str(node.get("alias")).lower()
    reasons = {
        f"{named} is another value than that of the table": bool(which) and named in ties and _name(node) != named,
        "of set operations only union all keeps days and orders apart": kind == "SET_OPERATION_NODE"
        and not (node["setop_type"] == "UNION" and bool(node.get("setop_all"))),
        "it has a limit, a sample or distinct on": kind in _LIMITS
        or bool(node.get("sample") or node.get("distinct_on_targets")),
        "a subquery in an expression reads other days or orders: join instead": which == "SUBQUERY"
        and _reads(node, scope),
        f"a window is not partitioned by {key}": which == "WINDOW"
        and not ties & set(map(_name, node.get("partitions", ()))),
        f"it adds up or compares rows without grouping them by {key}, by name": kind == "SELECT_NODE"
        and _mixes(node, ties, scope),
        f"a join is not on {key}": kind == "JOIN" and not _joins(node, ties, scope),
    }
    return next((why for why, is_so in reasons.items() if is_so), "")


def _joins(node: dict[str, Any], ties: set[str], scope: str) -> bool:
    """Tell whether a join keeps days or orders apart: by the columns that it is on, or because a side has none."""
    if not all(_reads(node[side], scope) for side in ("left", "right")):
        return True
    equal = [each for each in dicts(node.get("condition")) if each.get("type") == "COMPARE_EQUAL"]
    same = {_name(each["left"]) for each in equal if _name(each["left"]) == _name(each["right"])}
    return bool(ties & (same | {str(each).lower() for each in node.get("using_columns") or ()}))


def _mixes(node: dict[str, Any], ties: set[str], scope: str) -> bool:
    """Tell whether a select makes one row of rows of several days or orders."""
    grouped, by_all = node.get("group_expressions") or [], node.get("aggregate_handling") == "FORCE_AGGREGATES"
    calls = any(n.get("class") == "FUNCTION" and n["function_name"].lower() in _aggregates() for n in _within(node))
    distinct = any(each["type"] == "DISTINCT_MODIFIER" for each in node.get("modifiers") or ())
    if not (grouped or calls or by_all or distinct) or not _reads(node.get("from_table"), scope):
        return False
    listed = [*grouped, *(node["select_list"] if by_all or distinct else ())]
    return len(node.get("group_sets") or ()) > 1 or not ties & set(map(_name, listed))


def _within(node: Any) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a select that are in none of its inner selects or windows."""
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        if isinstance(value, dict) and (value.get("type") == "SELECT_NODE" or value.get("class") == "WINDOW"):
            continue
        if isinstance(value, dict):
            yield value
        yield from _within(value)


def _reads(node: Any, scope: str) -> bool:
    """Tell whether a part of a select reads rows of days or orders: such a table, or a name of a `with`, which may."""
    tables = (each for each in dicts(node) if each.get("type") == "BASE_TABLE")
    return any(
        not each["schema_name"] or is_scoped(f"{each['schema_name']}.{each['table_name']}".lower(), scope)
        for each in tables
    )


def _name(node: dict[str, Any]) -> str:
    return str(node["column_names"][-1]).lower() if node.get("class") == "COLUMN_REF" else ""


def _aggregates() -> frozenset[str]:
    return functions_of("function_type = 'aggregate'")
