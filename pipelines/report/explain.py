"""Explain one order: a receipt whose every amount names its place in the document and whose sums are written out.

Reads a release. Personal data is told as sealed or not given; no vault is opened here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.finance.records import records, tables_of
from pipelines.finance.released import released
from pipelines.inbox.receiver import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.report.arithmetic import LineRule, line_rule
from pipelines.report.history import history
from pipelines.report.identities import identities
from pipelines.report.menus import menu_prices
from pipelines.report.text import COLUMNS, NOT_STATED, counted, fitted, moment, money, plain, width, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb

    from pipelines.settings import Settings

Record = dict[str, Any]
_POINTER_COLUMNS = 28
_AMOUNT_COLUMNS = 14
_PARTS = ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price")
_PERSONAL = {
    "phone": "has_user_phone",
    "e-mail": "has_user_email",
    "address": "has_user_address",
    "name": "has_user_name",
    "apartment": "has_apartment_details",
    "latitude": "has_user_latitude",
    "longitude": "has_user_longitude",
    "note for dispatch": "has_dispatch_note",
}


class UnknownOrderError(Exception):
    """No release holds the order; the message says what else is known of it."""


def explain_order(settings: Settings, order_id: int) -> list[str]:
    """Return an order's receipt of the current release; raise UnknownOrderError, FinanceError where there is none."""
    with released(settings) as release:
        lines = receipt(release.con, order_id)
        if not lines:
            raise UnknownOrderError(" ".join(_unknown(release.con, settings, order_id)))
    return lines


def receipt(db: duckdb.DuckDBPyConnection, order_id: int) -> list[str]:
    """Return an order's receipt, each line at most 80 columns wide; an empty list when the release lacks the order."""
    found = records(
        db,
        "select core.*, mart.* exclude (order_id) from core.orders as core "
        "inner join mart.orders as mart using (order_id) where core.order_id = ?",
        [order_id],
    )
    return list(_receipt(db, found[0])) if found else []


def _receipt(db: duckdb.DuckDBPyConnection, order: Record) -> Iterator[str]:
    tables = tables_of(db)
    order_id = order["order_id"]
    checked = records(db, "from mart.order_reconciliation where order_id = ?", [order_id])[0]
    rule = line_rule(db, checked.get("subtotal_rule"))
    yield from _head(order)
    yield from _document(db, order)
    if "audit.possible_duplicate_orders" in tables:
        yield from _repeats(db, order_id)
    yield from _lines(db, tables, order_id, rule)
    if "mart.price_variances" in tables:
        yield from menu_prices(db, order_id)
    yield from _parts(order)
    yield from identities(db, tables, order, checked, rule)
    yield from _deliveries(db, order_id)
    yield from _personal(order)
    yield from history(db, tables, order)


def _head(order: Record) -> Iterator[str]:
    store = plain(order["store_name"] or "a store without a name")
    yield from wrapped(f"Order {order['order_id']} at {store} (store {_said(order['store_id'])})", 0)
    yield from wrapped(
        f"business day {_said(order['business_date'], 'not known')}, sale class {order['sale_class']}; status "
        f"{_said(order['status'])}, platform {_said(order['platform'])}, dispatched by "
        f"{_said(order['dispatch_method'])}"
    )
    times = {
        "created": order["created_at_local"],
        "requested for": order["requested_time_local"],
        "delivery promised for": order["promised_delivery_time_local"],
        "pick-up promised for": order["promised_pick_up_time_local"],
    }
    for what, at in times.items():
        if at is not None:
            yield f"  {what} {at:%Y-%m-%d %H:%M:%S} {order['timezone']}"
    whose = "the store's own" if order["timezone_source"] == "store" else "the one in settings: the store names none"
    yield from wrapped(f"the timezone is {whose}; amounts in {plain(order['currency'] or 'no stated currency')}")


def _document(db: duckdb.DuckDBPyConnection, order: Record) -> Iterator[str]:
    yield ""
    yield "Document (every pointer below leads into it)"
    yield f"  sha256 {order['_payload_sha256']}"
    yield from wrapped(f"first seen {moment(order['_fetched_at'])}, last checked {moment(order['last_checked_at'])}")
    yield from wrapped(f"load {order['_load_id']}")
    if order["is_deleted"]:
        yield "  The service no longer knows this order: what follows is what it said last."
    for each in records(
        db,
        "from audit.quarantine where kind = 'orders' and entity_id = ? and is_unresolved order by seq",
        [order["order_id"]],
    ):
        yield from wrapped(
            f"A later answer was not taken, {moment(each['last_seen_at'])}: {_refusal(each)}. What follows is older."
        )


def _repeats(db: duckdb.DuckDBPyConnection, order_id: int) -> Iterator[str]:
    for each in records(db, "from audit.possible_duplicate_orders where order_id = ?", [order_id]):
        yield from wrapped(
            f"It may repeat order {each['original_order_id']}: same customer, store and lines, "
            f"{each['seconds_later']:,} seconds later."
        )


def _lines(db: duckdb.DuckDBPyConnection, tables: set[str], order_id: int, rule: LineRule | None) -> Iterator[str]:
    lines = records(db, "from core.order_lines where order_id = ? order by line_no", [order_id])
    modifiers: dict[int, list[Record]] = {}
    for each in records(
        db, "from core.order_line_modifiers where order_id = ? order by line_no, modifier_no", [order_id]
    ):
        modifiers.setdefault(each["line_no"], []).append(each)
    amounts = _amounts(db, tables, order_id)
    yield ""
    yield _row("Lines", "price", "pointer")
    for line in lines:
        place, own = line["line_no"] - 1, modifiers.get(line["line_no"], [])
        yield from _amount(
            f"{line['line_no']:>3}. {_times(line['quantity'])} {_name(line)}", line["price"], f"/items/{place}/price"
        )
        for modifier in own:
            yield from _amount(
                f"       {_said(modifier['action'], 'no action')} {_times(modifier['quantity'])} {_name(modifier)}",
                modifier["price"],
                f"/items/{place}/modifiers/{modifier['modifier_no'] - 1}/price",
            )
        if line["has_instructions"]:
            yield "       instructions: sealed"
        if line["line_no"] in amounts:
            yield from _line_amount(line, own, rule, amounts[line["line_no"]])
    if not lines:
        yield "  none"


def _amounts(db: duckdb.DuckDBPyConnection, tables: set[str], order_id: int) -> dict[int, Record]:
    if "mart.order_lines" not in tables:
        return {}
    found = records(
        db, "select line_no, line_amount, missing_amount_reason from mart.order_lines where order_id = ?", [order_id]
    )
    return {each["line_no"]: each for each in found}


def _line_amount(line: Record, modifiers: Sequence[Record], rule: LineRule | None, amount: Record) -> Iterator[str]:
    if rule is None or amount["line_amount"] is None:
        why = {
            "no_rule": "no subtotal rule is in force",
            "missing_input": "a price or a quantity that it needs is not stated, or out of bounds",
            "action_unknown": "what a modifier of this action does to the price is not known",
        }.get(amount["missing_amount_reason"] or "no_rule", amount["missing_amount_reason"])
        yield from wrapped(f"no line amount: {why}", 7)
        return
    written, result = rule.line(line, modifiers)
    yield from wrapped(f"line amount = {written} = {money(result)}", 7)
    if result != amount["line_amount"]:
        yield from wrapped(f"mart.order_lines has {money(amount['line_amount'])}: tell who keeps the pipeline", 7)


def _parts(order: Record) -> Iterator[str]:
    yield ""
    yield _row("Parts", "as sent", "pointer")
    for part in _PARTS:
        yield from _amount(f"  {part}", order[part], f"/{part}")


def _deliveries(db: duckdb.DuckDBPyConnection, order_id: int) -> Iterator[str]:
    found = records(db, "from core.order_deliveries where order_id = ? order by delivery_no", [order_id])
    if found:
        yield ""
        yield "Deliveries"
    for each in found:
        yield from wrapped(
            f"{each['delivery_no']}. {_said(each['type'])}, {_said(each['status'])}; confirmation code "
            f"{_mask(each['has_confirmation_code'])}, tracking address {_mask(each['has_tracking_url'])}"
        )


def _personal(order: Record) -> Iterator[str]:
    yield ""
    yield "Personal data (in the vault; never shown here)"
    yield from wrapped("; ".join(f"{name}: {_mask(order[column])}" for name, column in _PERSONAL.items()))


def _unknown(db: duckdb.DuckDBPyConnection, settings: Settings, order_id: int) -> Iterator[str]:
    yield f"order {order_id} is in no release."
    yield _on_the_list(settings, order_id)
    refusals = records(
        db,
        "from audit.quarantine where kind = 'orders' and entity_id = ? order by last_seen_at desc nulls last, seq",
        [order_id],
    )
    if not refusals:
        yield "audit.quarantine does not name it."
    for each in refusals:
        times = counted(each["occurrence_count"], "time", "times")
        still = "still so" if each["is_unresolved"] else "not so any more"
        yield (
            f"audit.quarantine: {_refusal(each)}, {times}, last {moment(each['last_seen_at'])} "
            f"in load {each['load_id']}, {still}."
        )


def _on_the_list(settings: Settings, order_id: int) -> str:
    path = inbox_path(settings.data_dir)
    entry = None
    if path.exists():
        with WorkList(path) as work:
            entry = work.entry("orders", order_id)
    if entry is None:
        return "The work list does not name it: nobody asked for it, see `ordermart run --order-ids`."
    why = ", ".join(sorted(entry.why))
    state = {
        "waiting": f"it is to be fetched, due {moment(entry.due_at)}",
        "started": "its fetch is under way, or was cut short and will be repeated",
        "done": f"it was fetched {moment(entry.finished_at)}",
        "dead": f"it could not be fetched ({entry.reason}); `ordermart retry` takes it up again",
        "given_up": f"the service answered that it knows no such order, last {moment(entry.finished_at)}",
    }[entry.state]
    return f"The work list: {state} (asked for by: {why}; tries: {entry.tries})."


def _refusal(row: Record) -> str:
    return f"{row['reason'] or 'refused'} at {plain(row['pointer'])}" if row["pointer"] else f"{row['reason']}"


def _amount(label: str, amount: Any, pointer: str) -> Iterator[str]:
    text = money(amount)
    if width(pointer) > _POINTER_COLUMNS:
        yield _row(label, text, "")
        yield f"{pointer:>{COLUMNS}}"
    else:
        yield _row(label, text, pointer)


def _row(label: str, amount: str, pointer: str) -> str:
    amount = f"{amount:>{_AMOUNT_COLUMNS}}"
    space = COLUMNS - _POINTER_COLUMNS - 4 - len(amount)
    return f"{fitted(label, space)}  {amount}  {pointer}".rstrip()


def _times(quantity: int | None) -> str:
    return "? ×" if quantity is None else f"{quantity} ×"


def _name(row: Record) -> str:
    return plain(row["name"]) if row["name"] else "(no name)"


def _mask(is_there: bool | None) -> str:
    return "not given" if is_there is None else "sealed" if is_there else "empty"


def _said(value: object, otherwise: str = NOT_STATED) -> str:
    return otherwise if value is None else plain(value)
