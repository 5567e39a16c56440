"""Print breaks and what was decided of them, in 80 columns; amounts have the digits of their currency."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.finance.currencies import money_of
from pipelines.report.text import counted, moment, plain, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pipelines.ledger import Entry

_SHOWN = 100


def break_lines(rows: Sequence[Mapping[str, Any]], *, everything: bool = False) -> Iterator[str]:
    """Yield a line for each break that is open, or for each, and below it what was decided of it."""
    accepted = sum(row["state"] == "accepted" for row in rows)
    listed = [row for row in rows if everything or row["state"] != "accepted"]
    if listed:
        yield f"{'order':>12}  {'day':10}  {'store':>8}  {'residual':>20}  state"
    for row in listed[:_SHOWN]:
        yield from _break(row)
    if len(listed) > _SHOWN:
        yield f"… and {len(listed) - _SHOWN:,} more: limit them with --from, --to and --store."
    yield f"{counted(len(rows) - accepted, 'open break', 'open breaks')}, {accepted:,} accepted."


def accepted(entry: Entry) -> Iterator[str]:
    """Yield what was accepted: how many breaks, and their residuals by currency."""
    breaks = entry.body["breaks"]
    yield f"Accepted {counted(len(breaks), 'break', 'breaks')} as ledger entry {entry.no}."
    sums: dict[tuple[str, str], Decimal] = {}
    for row in breaks:
        for name in ("total", "subtotal"):
            residual = Decimal(row[f"{name}_residual"] or 0)
            key = row["currency"] or "", name
            sums[key] = sums.get(key, Decimal(0)) + residual
    for (currency, name), residual in sorted(sums.items()):
        if residual:
            yield f"  {name} residuals {money_of(residual, currency, is_signed=True)}"


def _break(row: Mapping[str, Any]) -> Iterator[str]:
    day, store = row["business_date"] or "no day", "none" if row["store_id"] is None else row["store_id"]
    state = "changed since it was accepted" if row["state"] == "changed" else row["state"]
    residuals = [name for name in ("total", "subtotal") if row[f"{name}_residual"]]
    first, *others = residuals
    yield (
        f"{row['order_id']:>12}  {day!s:10}  {store:>8}  "
        f"{money_of(row[f'{first}_residual'], row['currency'], is_signed=True):>20}  {state}"
    )
    for name in others:
        residual = money_of(row[f"{name}_residual"], row["currency"], is_signed=True)
        yield f"{'':36}{residual:>20}  {name}"
    for name in residuals:
        if row[f"{name}_likely_cause"]:
            yield from wrapped(f"likely cause, {name}: {row[f'{name}_likely_cause']}", 14)
    yield from _decisions(row)


def _decisions(row: Mapping[str, Any]) -> Iterator[str]:
    decided = row["decisions"]
    if decided is None:
        return
    if decided.accepted:
        yield from wrapped(f"accepted by {_who(decided.accepted)}: {plain(decided.accepted.body['reason'])}", 14)
    if decided.assignee:
        yield from wrapped(f"assigned to {plain(decided.assignee)}", 14)
    for comment in decided.comments:
        yield from wrapped(f"{_who(comment)}: {plain(comment.body['comment'])}", 14)


def _who(entry: Entry) -> str:
    name = f"{plain(entry.body['as'])} ({plain(entry.who)})" if entry.body["as"] else plain(entry.who)
    return f"{name}, {moment(entry.moment)}"
