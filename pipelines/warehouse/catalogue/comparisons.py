"""Write the selects of the claims that `sql/comparisons.toml` declares: that two relations hold the same amounts.

Both sides are added up by the keys, the other side with the opposite sign: keys whose sums are not zero are violations.
Reads no select of a table, so that a fault in one is not repeated here.
"""

from __future__ import annotations

import functools
import tomllib
from typing import Any, Literal

from pipelines.landing.charges import PRICES
from pipelines.resources import resource
from pipelines.warehouse.catalogue.templates import filled
from pipelines.warehouse.contracts import CatalogueError

FILE = resource("sql") / "comparisons.toml"
_ENTITIES = ("order_id", "store_id")


@functools.cache
def comparisons(kind: Literal["checks", "ties"]) -> dict[str, str]:
    """Return each declared check, or tie, by name, as a file of `sql/checks/` would state it."""
    declared = tomllib.loads(FILE.read_text(encoding="utf-8"))[kind]
    head = "-- {}\n-- severity: blocking\n" + ("-- scope: all\n" if kind == "ties" else "")
    return {name: _select(head.format(what["claim"]), name, what) for name, what in declared.items()}


def _select(head: str, name: str, what: dict[str, Any]) -> str:
    keys, same = _columns(what["keys"]), _columns(what.get("same", []))
    sums = _columns(what.get("sums", ["rows"]))
    if keys.keys() & same.keys() or (keys | same).keys() & sums.keys():
        raise CatalogueError(f"comparisons.toml: {name} has two columns of the same name")
    sides = []
    for side, (sign, relation) in enumerate((("", name.partition("__")[0]), ("-", what["other"]))):
        columns = [f"{pair[side]} as {column}" for column, pair in (keys | same).items()]
        if "sums" in what:
            # coalesce: an unknown amount adds nothing; the cast gives whole numbers and amounts one type
            columns += [
                f"{sign}coalesce(cast(sum({pair[side]}) as decimal(38, 4)), 0) as {each}" for each, pair in sums.items()
            ]
        else:
            columns += [f"{sign}1 as rows"]
        grouping = "\n    group by all" if "sums" in what else ""  # of one row each, grouping once is enough
        sides.append(f"    select\n        {_listed(columns)},\n    from {relation}{grouping}")
    return head + filled(
        "comparison",
        sides="\n\n    union all\n\n".join(sides),
        entity=next((key for key in keys if key in _ENTITIES), "cast(null as bigint)"),
        places=", ".join(f"coalesce('{key} ' || {key}, 'no {key}')" for key in keys if key not in _ENTITIES) or "'all'",
        details=_listed([f"if(sum({each}) <> 0, '{each} off by ' || sum({each}), null)" for each in sums]),
        grouped=", ".join(keys | same) or "all",
        differs="\n    or ".join(f"sum({each}) <> 0" for each in sums),
    )


def _listed(texts: list[str]) -> str:
    return ",\n        ".join(texts)


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
