"""Say what statements settle: their list, one payout, an order's settlement, and which column of a file has our ids."""

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from pipelines.finance.released import FinanceError, Released, finance_sql, money, open_release, records
from pipelines.ledger.entries import Decisions, decisions
from pipelines.report.finance_views import decided_lines
from pipelines.report.text import counted, wrapped
from pipelines.settings import Settings
from pipelines.settlements.importing import ImportedStatement
from pipelines.settlements.lines import records_of
from pipelines.settlements.mapping import Csv
from pipelines.settlements.proposing import proposed_mapping

Record = dict[str, Any]
_MOST = 50  # breaks that are shown


def imported(done: list[ImportedStatement]) -> Iterator[str]:
    """Yield a line for each file of an import."""
    for each in done:
        if each.entry_no is None:
            yield f"{each.file}: imported before."
            continue
        of = f"{each.statement_count:,} statements with " if each.statement_count else ""
        replaced = f", superseding {each.replaced:,} earlier" if each.replaced else ""
        yield f"{each.file}: {of}{each.row_count:,} rows imported as ledger entry {each.entry_no}{replaced}."
        yield from (f"  {change}" for change in each.changes)
        said = "is none of ours on some row's day: such rows are not_ours."
        yield from (f"  Store {name} {said}" for name in each.nobodys)
    if any(each.entry_no for each in done):
        yield "The next `ordermart run` or `ordermart build` matches them; then see `ordermart settlements list`."


def list_settlements(settings: Settings) -> tuple[list[str], bool]:
    """Return statements, payouts and open amounts of the current release as lines, and whether anything is open."""
    with open_release(settings) as release:
        order = "platform, first_line_date, file, statement_ref"
        statements = records(release.con, f"from mart.settlement_statements order by {order}")
        if not statements:
            return ["No statements yet: `ordermart settlements import FILE --map MAPPING`."], False
        lines = list(_statements(statements))
        payouts = records(release.con, "from mart.payouts order by platform, last_line_date, payout_ref, currency")
        lines += _payouts(payouts)
        lines += _open(records(release.con, finance_sql("open_settlements")))
        breaks = list(_open_breaks(release))
        lines += _breaks(breaks)
    return lines, bool(breaks)


def aging(settings: Settings, day: dt.date) -> Iterator[str]:
    """Yield the open items of orders by platform, kind and age on a day, and each platform's receivable."""
    with open_release(settings) as release:
        items = records(release.con, finance_sql("aging"), [day])
    if not items:
        yield "Nothing is open."
    days = {"to_30_days": "up to 30", "to_60_days": "31 to 60", "to_90_days": "61 to 90", "older": "over 90"}
    for platform, currency in dict.fromkeys((each["platform"], each["currency"]) for each in items):
        own = [each for each in items if (each["platform"], each["currency"]) == (platform, currency)]
        yield f"{platform}, {currency}"
        for each in own:
            parts = [f"{span} days: {money(each[age], currency)}" for age, span in days.items() if each[age]]
            yield from wrapped(f"{each['kind']}: {money(each['total'], currency)} ({'; '.join(parts)})")
        yield f"  receivable: {money(sum(each['total'] for each in own), currency)}"


def unknown_orders(settings: Settings) -> list[str]:
    """Return the ids on statements that the warehouse lacks: `ordermart run --order-ids` asks for them."""
    with open_release(settings) as release:
        unknown = "select distinct order_id from mart.settlement_lines where order_id is not null"
        unknown += " and order_id not in (select order_id from mart.orders) order by order_id"
        return [str(order_id) for (order_id,) in release.con.execute(unknown).fetchall()]


def _open_breaks(release: Released) -> Iterator[Record]:
    """Yield the breaks that are not accepted, also since the build, with who looks after them and what was said."""
    decided = decisions(release.ledger.entries())
    query = "from audit.settlement_breaks order by platform, break_kind, since_date, break_key"
    for each in records(release.con, query):
        known = decided.get(each["break_key"], Decisions())
        if known.content != each["content"]:
            yield each | {"decisions": known}


def _breaks(breaks: list[Record]) -> Iterator[str]:
    if breaks:
        yield f"Open breaks: {len(breaks):,}"
    for each in breaks[:_MOST]:
        amount = f"{money(each['amount'], each['currency'])} {each['currency']}"
        yield from wrapped(f"{each['break_key']}: {each['break_kind']}, {amount}, since {each['since_date']}")
        yield from decided_lines(each)
    if len(breaks) > _MOST:
        yield f"  … and {len(breaks) - _MOST:,} more: audit.settlement_breaks"


def _statements(statements: list[Record]) -> Iterator[str]:
    yield "Statements"
    for each in statements:
        ref = f"statement {each['statement_ref']}" if each["statement_ref"] else "no reference"
        open_rows = f", {each['unmatched_count']:,} unmatched" if each["unmatched_count"] else ""
        yield from wrapped(
            f"{each['platform']}, {ref}, {each['first_line_date']} to {each['last_line_date']}: "
            f"{money(each['net_amount'], each['currency'])} {each['currency']} in {each['line_count']:,} lines"
            f"{open_rows} ({each['file']}, ledger entry {each['entry_no']})"
        )


def _payouts(payouts: list[Record]) -> Iterator[str]:
    if payouts:
        yield "Payouts"
    for each in payouts:
        yield from wrapped(f"{each['platform']}, {each['payout_ref']}: {_payout(each)}")


def _payout(each: Record) -> str:
    stated, bank = (money(each[name], each["currency"]) for name in ("stated_amount", "bank_amount"))
    due = ", overdue" if each["is_due"] else ""
    return {
        "paid": f"{stated} {each['currency']} paid on {each['bank_date']}",
        "not_at_bank": f"{stated} {each['currency']} not at the bank{due}",
        "not_stated": f"{bank} {each['currency']} at the bank, on no statement",
        "differs": f"{stated} {each['currency']} stated, {bank} at the bank",
    }[each["payout_state"]]


def _open(items: list[Record]) -> Iterator[str]:
    yield "Orders and lines"
    for each in items:
        left = "" if each["amount"] is None else f"; open {money(each['amount'], each['currency'])}"  # null of lines
        yield from wrapped(
            f"{each['platform']}, {each['state']}: {each['order_count']:,} of "
            f"{money(each['ordered'], each['currency'])} {each['currency']}{left}"
        )


_FLOW = """
    with ordered as (
        select platform, currency, sum(ordered_amount) as ordered, sum(settled_amount) as settled
        from mart.order_settlements group by platform, currency
    ), stated as (
        select platform, currency, sum(net_amount) as net from mart.settlement_statements group by platform, currency
    ), paid as (select platform, currency, sum(bank_amount) as paid from mart.payouts group by platform, currency)
    select * replace (coalesce(net, 0) as net, coalesce(paid, 0) as paid) from ordered
    full join stated using (platform, currency) full join paid using (platform, currency)
    order by platform, currency
"""
_NOT_DUE = "not due yet"
_AGED = f"""
    select kind, platform, currency, count(*) as number, count(*) filter (age <= 14) as fresh,
        count(*) filter (age between 15 and 30) as older, count(*) filter (age > 30) as oldest, sum(amount) as amount
    from (
        select break_kind::varchar as kind, platform, currency, amount, date_diff('day', since_date, ?) as age
        from audit.settlement_breaks where state <> 'accepted'
        union all
        select '{_NOT_DUE}', platform, currency, open_amount, date_diff('day', business_date, ?)
        from mart.order_settlements where settlement_state = 'open' and not is_due
    ) group by kind, platform, currency order by kind = '{_NOT_DUE}', number desc, kind, platform, currency
"""
_RATES = """
    select platform, store_id, stores.name, from_date, before, rate from (
        select *, lag(rate) over (partition by platform, store_id, currency order by from_date) as before
        from mart.settlement_rates where is_in_force
    ) left join core.stores as stores using (store_id)
    where before <> rate order by from_date desc, platform, store_id
"""
_OVERDUE = """
    select platform, payout_ref, last_line_date, stated_amount, currency from mart.payouts
    where payout_state = 'not_at_bank' and is_due order by last_line_date, platform, payout_ref
"""


def settled_facts(release: Released, day: dt.date) -> dict[str, Any]:
    """Return the way from orders to the bank, open items by age, changed rates, overdue payouts; without any, {}."""
    has_tables = "select 1 from duckdb_tables() where schema_name = 'mart' and table_name = 'settlement_rates'"
    if not release.con.execute(has_tables).fetchone() or not (flow := records(release.con, _FLOW)):
        return {}
    items = records(release.con, _AGED, [day, day])
    count = sum(each["number"] for each in items if each["kind"] != _NOT_DUE)
    rates, overdue = records(release.con, _RATES), records(release.con, _OVERDUE)
    return {"flow": flow, "open": items, "break_count": count, "rates": rates, "overdue": overdue}


def explain_payout(settings: Settings, payout_ref: str) -> list[str]:
    """Return a payout from the bank back to rows and orders; raise FinanceError if the release lacks it."""
    with open_release(settings) as release:
        paid = records(release.con, "from mart.payouts where payout_ref = ? order by platform, currency", [payout_ref])
        if not paid:
            raise FinanceError(f"no statement and no bank file of the current release names payout {payout_ref}")
        lines: list[str] = []
        for payout in paid:
            lines += wrapped(f"Payout {payout_ref} of {payout['platform']}: {_payout(payout)}", 0)
            lines += _parts(release.con, payout)
    return lines


def _parts(con: duckdb.DuckDBPyConnection, payout: Record) -> Iterator[str]:
    key = [payout["platform"], payout["payout_ref"], payout["currency"]]
    where = "where lines.platform = ? and payout_ref = ? and settled_currency = ? group by all order by all"
    query = f"select component, lines.currency, sum(amount) as amount from mart.settlement_lines as lines {where}"
    for each in records(con, query, key):
        of = f" {each['currency']}" if each["currency"] != payout["currency"] else ""
        yield f"  {each['component']:<20}{money(each['amount'], each['currency']):>16}{of}"
    sums = {"carried": "carried_amount", "sum": "stated_amount", "bank": "bank_amount", "bank fee": "bank_fee_amount"}
    for name, column in sums.items():
        if payout[column] or name == "sum":
            yield f"  {name:<20}{money(payout[column], payout['currency']):>16}"
    select = "select match_state, count(distinct match_id) as match_count, sum(settled_amount) as amount"
    source = "mart.settlement_lines as lines inner join mart.settlement_matches as matches using (match_id)"
    for each in records(con, f"{select} from {source} {where}", key):
        amount = f"{money(each['amount'], payout['currency']):>16}"
        yield f"  {each['match_state']:<20}{amount}  in {counted(each['match_count'], 'match', 'matches')}"


def _commissions(con: duckdb.DuckDBPyConnection, order_id: int, platform: str) -> Iterator[str]:
    """Yield an order's commission, as charged and as expected by the rate in force."""
    for each in records(con, finance_sql("commissions_of_order"), [order_id, platform]):
        charged, expected = each["charged"], each["expected"]
        said = f"commission of row {each['settlement_no']}: {money(charged, each['currency'])} charged"
        if each["rate"] is None:
            yield from wrapped(f"{said}; no rate is in force")
            continue
        excess = f"{money(abs(charged - expected), each['currency'])} too {'much' if charged > expected else 'little'}"
        accepted = ", accepted" if each["state"] == "accepted" else ""
        yield from wrapped(
            f"{said} ({charged / each['base_amount']:.2%} of {each['base'].replace('_', ' ')}), "
            f"{money(expected, each['currency'])} expected ({each['rate']:.2%} since {each['from_date']}): "
            + (f"{excess}{accepted}" if charged != expected else "the same")
        )


def order_settlements(con: duckdb.DuckDBPyConnection, order_id: int) -> Iterator[str]:
    """Yield an order's settlement: each source row and component, its match, payout and bank entry; its commission."""
    for each in records(con, "from mart.order_settlements where order_id = ? order by platform", [order_id]):
        yield ""
        yield f"Settlement by {each['platform']}: {each['settlement_state']}"
        currency = each["currency"]
        yield from wrapped(
            f"ordered {money(each['ordered_amount'], currency)}, settled {money(each['settled_amount'], currency)}, "
            f"open {money(each['open_amount'], currency)}; net {money(each['net_amount'], currency)}"
        )
        for line in records(
            con,
            "select lines.*, statements.file, matches.match_rule, matches.match_state, payouts.payout_state, "
            "payouts.bank_date from mart.settlement_lines as lines "
            "inner join mart.settlement_matches as matches using (match_id) "
            "inner join mart.settlement_statements as statements on lines.entry_no = statements.entry_no "
            "and lines.statement_ref is not distinct from statements.statement_ref "
            "and lines.currency = statements.currency "
            "left join mart.payouts as payouts on lines.platform = payouts.platform "
            "and lines.payout_ref = payouts.payout_ref and lines.settled_currency = payouts.currency "
            "where lines.platform = ? and (matches.order_id = ? or lines.order_id = ? or matches.match_id = ?) "
            "order by lines.entry_no, lines.source_row, lines.component limit 100",
            [each["platform"], order_id, order_id, each["match_id"] or ""],
        ):
            paid = f", payout {line['payout_ref']} {line['payout_state']}" if line["payout_ref"] else ""
            paid += f" on {line['bank_date']}" if line["bank_date"] else ""
            yield from wrapped(
                f"{line['file']} row {line['source_row']}: {line['component']} "
                f"{money(line['amount'], line['currency'])} {line['currency']}, by {line['match_rule']}: "
                f"{line['match_state']}{paid}"
            )
        yield from _commissions(con, order_id, each["platform"])


def keys(settings: Settings, file: Path) -> Iterator[str]:
    """Yield for each column of a file how many values are ids of our orders, and what of these orders their rows have.

    A row has an order's store, day or amount if another cell is its id or name, its business date, or the digits of its
    total or subtotal. Values are not shown, but of a column of types. A mapping follows.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise FinanceError(f"{file}: cannot be read: {error.strerror}") from None
    header = content.partition(b"\n")[0].replace(b"\0", b"")
    delimiter = max(",;\t|", key=lambda sign: header.count(sign.encode()))
    rows = records_of(content, file.name, Csv(delimiter=delimiter))
    digits = {number: [re.sub("[^0-9]", "", cell) for cell in cells] for number, cells in rows.rows}
    cells_of = {number: [*map(str.strip, cells)] for number, cells in rows.rows}
    order = (0, 0, 0, "")
    with open_release(settings) as release:
        for place, column in enumerate(rows.header):
            ids = {number: int(cells[place]) for number, cells in rows.rows if _ID.fullmatch(cells[place])}
            known = release.con.execute(_KNOWN, [[*ids], [*ids.values()]]).fetchall() if ids else []
            if not known:
                continue
            same = dict.fromkeys(("store", "day", "amount"), 0)
            for number, stores, days, amounts in known:
                others = [at for at in range(len(rows.header)) if at != place]
                same["store"] += any(cells_of[number][at] in stores for at in others)
                same["day"] += any(digits[number][at][:8] in days for at in others)
                same["amount"] += any(digits[number][at] in amounts for at in others)
            shared = ", ".join(f"{count:,} the order's {what}" for what, count in same.items())
            yield from wrapped(
                f"{column}: {len(known):,} of {len(rows.rows):,} values are ids of orders; of these rows have {shared}",
                0,
            )
            order = max(order, (same["amount"], same["day"], same["store"], column))
    yield "\nA mapping to correct, from the first rows; docs/BOOKS.md has its keys:"
    yield from proposed_mapping(rows, delimiter, order[3], file.name)


_ID = re.compile("[0-9]{1,18}", re.ASCII)
_KNOWN = """
select number, [cast(store_id as varchar), store_name],
    [strftime(business_date, '%Y%m%d'), strftime(business_date, '%d%m%Y'), strftime(business_date, '%m%d%Y')],
    [replace(cast(cast(price as decimal(38, 2)) as varchar), '.', '') for price in [total_price, subtotal_price]],
from (select unnest(?) as number, unnest(?) as order_id) as named inner join mart.orders using (order_id)
"""
