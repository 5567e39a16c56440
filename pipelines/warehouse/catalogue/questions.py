"""Write docs/QUESTIONS.md out of sql/examples/ and the list of unavailable facts: each declared in one place.

python -m pipelines.warehouse.catalogue.questions
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.warehouse.catalogue.examples import examples
from pipelines.warehouse.catalogue.not_available import NOT_AVAILABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = Path(__file__).resolve().parents[3] / "docs" / "QUESTIONS.md"
_HEAD = """\
# Questions and queries

Each question with a query that answers it, from `sql/examples/`: do not edit, run
`python -m pipelines.warehouse.catalogue.questions`. Tests run every query. A release has the same in `meta.examples`:

```sql
select question, query from meta.examples order by example_no;
```

Amounts of two currencies never add up to anything: queries group by `currency`. `sale_class = 'counted'` are the
orders that `[sales]` counts as sales; until it names statuses, all are `unmapped`.
"""


def questions() -> str:
    """Return the whole text of docs/QUESTIONS.md."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield _HEAD
    for number, example in enumerate(examples(), 1):
        yield f"## {number}. {example.question}\n"
        yield f"Reads {', '.join(f'`{name}`' for name in example.tables)}.\n"
        yield f"```sql\n{example.sql};\n```\n"
    yield "## What the source cannot answer\n"
    yield "A release has this table as `meta.not_available`.\n"
    yield "| subject | why | closest answer | join from |"
    yield "| --- | --- | --- | --- |"
    yield from (f"| {each.subject} | {each.reason} | {each.closest} | {each.join_from} |" for each in NOT_AVAILABLE)
    yield ""


if __name__ == "__main__":
    FILE.write_text(questions(), encoding="utf-8")
