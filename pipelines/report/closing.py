"""Say what a closing, a reopening or a posting did, in lines.

Knows nothing of how it was done; amounts are shown exactly, with the label of their currency where there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from decimal import Decimal

    from pipelines.finance.closing import Closed
    from pipelines.finance.periods import Period
    from pipelines.finance.restating import Posted
    from pipelines.ledger import Entry, Verified
    from pipelines.report.evidence import Pack

_SHOWN = 50


def in_the_way(period: Period, found: Sequence[str]) -> str:
    """Return one line for each thing that stands in the way of sealing."""
    if not found:
        return f"Nothing stands in the way of closing {span(period)}."
    return "\n".join([f"In the way of closing {span(period)}:", *(f"  - {each}" for each in found)])


def closed(period: Period, done: Closed) -> str:
    """Return what a closing did, or why it did not."""
    return "\n".join(_closed(period, done))


def verified(done: Verified) -> str:
    """Return how long the chain is, and its head."""
    return f"The ledger holds: {done.entries:,} acts.\nHead, to be kept elsewhere: {done.head}"


def reopened(entry: Entry) -> str:
    """Return what was opened again."""
    store = "" if entry.body["store_id"] is None else f" of store {entry.body['store_id']}"
    return f"Reopened {entry.body['day']}{store}, as act {entry.no}: its seal no longer counts.\n{_head(entry)}"


def restatements(rows: Sequence[dict[str, Any]]) -> str:
    """Return restatements as lines: what was booked, what is there now, and why."""
    return "\n".join(_restatements(rows))


def posted(done: Posted) -> str:
    """Return what was posted."""
    if not done.rows:
        return "No restatement is open: nothing was posted."
    sums = "; ".join(f"total_price {amount(money, currency, signed=True)}" for currency, money in done.amounts)
    return f"Posted {done.rows:,} restatements to {done.period}: {sums or 'no change of total_price'}."


def packed(pack: Pack) -> str:
    """Return what a pack of evidence holds, and how to verify it."""
    absent = f"\nNot in the release: {', '.join(pack.absent)}." if pack.absent else ""
    return (
        f"Wrote {pack.path}: {pack.files} files, {pack.receipts} receipts.{absent}\n"
        f"Head of the ledger: {pack.head}\nHash of SHA256SUMS: {pack.sums}\n"
        "Keep both elsewhere. Verify it anywhere: python3 -I verify.py --expect-head HASH prints them again."
    )


def span(period: Period) -> str:
    """Return a period in words."""
    days = f"{period.first_day}"
    if period.last_day != period.first_day:
        days += f" to {period.last_day}"
    return f"{period.name} ({days})" if period.name else days


def amount(money: Decimal | None, currency: str | None, *, signed: bool = False) -> str:
    """Return an amount with at least two decimals, and its currency."""
    if money is None:
        return "none stated"
    text = f"{money:{'+' if signed else ''},.4f}"
    text = text.removesuffix("00")
    return f"{text} {currency}" if currency else text


def _closed(period: Period, done: Closed) -> Iterator[str]:
    if done.entry is None:
        yield f"NOT CLOSED: {span(period)}."
        yield from (f"  - {each}" for each in done.obstacles)
        yield 'Mend these, or seal it all the same: --with-exceptions "REASON".'
        return
    release = done.entry.body["release"]
    yield f"Closed {span(period)}, as act {done.entry.no}: {done.orders:,} orders of release {release}."
    for sale_class, orders, currency, money in done.totals:
        yield f"  {sale_class:9} {orders:8,} orders   total_price {amount(money, currency)}"
    if done.sealed_before:
        yield f"  Sealed before, and left as they are: {', '.join(map(str, done.sealed_before))}."
    if done.obstacles:
        yield f"With exceptions ({done.entry.body['exceptions']['reason']}):"
        yield from (f"  - {each}" for each in done.obstacles)
    yield _head(done.entry)


def _head(entry: Entry) -> str:
    return f"Head of the ledger, to be kept elsewhere: {entry.sha256}"


def _restatements(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    if not rows:
        yield "No restatement is open."
        return
    heads = f"{'no':>6}  {'order':>12}  {'sealed day':10}  {'class':9} {'part':16}"
    yield f"{heads} {'booked':>14} {'now':>14} {'difference':>14}  cause"
    for row in rows[:_SHOWN]:
        state = "" if row["is_close_active"] else "  (its day was reopened)"
        state += f"  (posted to {row['posted_period']})" if row["posted_period"] else ""
        yield (
            f"{row['number']:>6}  {row['order_id']:>12}  {row['business_date']}  {row['sale_class']:9} "
            f"{row['part']:16} "
            f"{amount(row['sealed'] + row['prior_restated_amount'], None):>14} {amount(row['now'], None):>14} "
            f"{amount(row['difference'], None, signed=True):>14}  {row['cause']}{state}"
        )
    if len(rows) > _SHOWN:
        yield f"… and {len(rows) - _SHOWN:,} more: mart.restatements has all of them."
    sums: dict[tuple[str, str, str], Decimal] = {}
    for row in rows:
        if row["part"] == "total_price":
            key = (row["cause"], row["sale_class"], row["currency"] or "")
            sums[key] = sums.get(key, 0) + row["difference"]
    yield "Together, total_price by cause and class:"
    for (cause, sale_class, currency), money in sorted(sums.items()):
        yield f"  {cause:20} {sale_class:9} {amount(money, currency, signed=True):>18}"
