"""Draw rows from few values: ids meet, times and amounts are alike, and much is null.

So a limit is met exactly, rows tie and joins find no partner, as hardly ever among the orders of the world. The ids are
no other row's.
"""

from __future__ import annotations

import random
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from duckdb import DuckDBPyConnection as Connection

ROWS, KEYLESS, DICE = 150, 40, 48  # draws; of a table without a key; numbers of one
TIMES = ("2026-10-24 22:00:00", "2026-10-25 01:00:00", "2026-10-27 12:00:00", "2026-11-07 00:30:00")
POOLS = {
    "BIGINT": "[0, 1, 2]",
    "DOUBLE": "[0.0, 0.5, 1.0]",
    "BOOLEAN": "[false, true]",
    "DATE": "['2026-10-24', '2026-10-25', '2026-11-01', '2026-11-22']",
    "TIMESTAMP": f"{list(TIMES)}",
    "TIMESTAMP WITH TIME ZONE": f"{[f'{time}+00' for time in TIMES]}",
}
TEXTS = {"timezone": "['Europe/Berlin', 'Asia/Tokyo']", "_sha256": "['a', 'b']"}
AMOUNTS = "[0, 1, 2, 3, -1]"
FEW_IDS = 901  # the first of them
IDS = {"order_id": f"range({FEW_IDS}, 911)", "_id": f"range({FEW_IDS}, 904)", "_no": "[1, 2, 3]"}


def roll_dice(con: Connection, direction: str = "") -> None:
    """Create the table `dice`: a row for each row that is drawn, its numbers the same every time."""
    rng = random.Random(1)
    rows = ", ".join(f"({row}, {[rng.randrange(840) for _ in range(DICE)]})" for row in range(ROWS))
    con.execute(f"create temp table dice as from (values {rows}) as t (row_no, rolled) order by row_no {direction}")


def few_rows(name: str, source: str, types: Mapping[str, str], key: Sequence[str]) -> str:
    """Return a select of drawn rows of a table; `source` has its rows, whose texts are drawn from, `key` is unique."""
    drawn, texts = [], []
    for column, kind in types.items():
        die = f"rolled[{1 + zlib.crc32(f'{name}.{column}'.encode()) % DICE}]"
        if not (pool := _pool(column, kind)):  # values of the table
            pool = f"texts_{len(texts)}"
            texts.append(f'list_sort(list(distinct "{column}") filter ("{column}" is not null))[:5] as {pool}')
        value = f"({pool})[1 + {die} % len({pool})]"
        either = value if column in key else f"if({die} % 7 = 0, null, {value})"
        drawn.append(f'cast({either} as {kind}) as "{column}"')
    keys = ", ".join(f'"{each}"' for each in key)
    once = f" qualify row_number() over (partition by {keys} order by row_no) = 1"
    unique = once if key else f" where row_no < {KEYLESS}"
    pools = f" cross join (select {', '.join(texts)} from {source})" if texts else ""
    return f"select {', '.join(drawn)} from dice{pools}{unique}"


def _pool(column: str, kind: str) -> str:
    if kind.startswith("ENUM"):
        return f"enum_range(cast(null as {kind}))"
    if kind.startswith("DECIMAL") and not kind.endswith("[]"):
        return AMOUNTS
    if kind == "BIGINT":
        return next((pool for ending, pool in IDS.items() if column.endswith(ending)), POOLS[kind])
    return POOLS.get(kind) or next((pool for ending, pool in TEXTS.items() if column.endswith(ending)), "")
