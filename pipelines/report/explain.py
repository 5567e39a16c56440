"""Explain one order: a receipt that gives each amount with its JSON pointer and writes out each sum, and its history.

The history is its versions, the close of its day, its restatements, and the menus when it was placed. Reads a release.
Personal data appears as encrypted, empty or not given, personal fields by their names; the vault is never opened.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import duckdb

from pipelines.finance.exporting import numbers_of
from pipelines.finance.released import NOT_STATED, FinanceError, ReadLimits, measure_text, money, open_release, records
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.landing.shape import PRICES
from pipelines.literals import one_line as plain
from pipelines.report.identities import LineRule, identities, line_rule
from pipelines.report.settlement_views import order_settlements
from pipelines.report.text import COLUMNS, counted, fitted, moment, width, wrapped
from pipelines.settings import Settings

_Seen = list[tuple[int, dt.datetime | None, list[dict[str, Decimal | None]]]]  # menu, since when, its prices
_MATCHES = {
    "both": "equals both the price and the delivery price",
    "price": "equals the price, not the delivery price",
    "delivery_price": "equals the delivery price, not the price",
    "neither": "is none of the menus' prices",
    "indeterminate": "cannot be compared",
}
_FIRST_SEEN = (
    "(select greatest($created_at, min(first.observed_from)) from core.menu_price_versions as first "
    "where first.menu_id = seen.menu_id)"
)


def history(db: duckdb.DuckDBPyConnection, order: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about an order's history; `order` is its row of mart.orders."""
    order_id, currency = order["order_id"], order["currency"]
    changes: dict[int, list[Mapping[str, Any]]] = {}
    for change in records(db, "from core.order_changes where order_id = ? order by version_no, field", [order_id]):
        changes.setdefault(change["version_no"], []).append(change)
    yield ""
    yield "Versions"
    for version in records(db, "from core.order_versions where order_id = ? order by version_no", [order_id]):
        number = version["version_no"]
        yield from wrapped(
            f"{number}. seen {moment(version['first_seen_at'])} to {moment(version['last_seen_at'])}: "
            f"{plain(version['status'] or 'no status')}, total {money(version['total_price'], currency)}"
        )
        yield f"     sha256 {version['_payload_sha256']}"
        for changed in changes.get(number, []):
            yield from wrapped(f"{plain(changed['field'])}{_change(changed, currency)}", 5)
    yield from _closing(db, order)


def _closing(db: duckdb.DuckDBPyConnection, order: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield "Closing"
    where = "business_date = ? and store_id is not distinct from ?"
    query = f"select distinct close_entry_no, closed_at from mart.closed_days where {where} order by close_entry_no"
    closes = records(db, query, [order["business_date"], order["store_id"]])
    for close in closes:
        what = f"business day {order['business_date']} of this store is closed"
        yield from wrapped(f"{what}: ledger entry {close['close_entry_no']}, {moment(close['closed_at'])}")
    if not closes:
        yield "  its business day is not closed"
    for row in records(db, "from mart.restatements where order_id = ? order by restatement_no", [order["order_id"]]):
        shown = partial(measure_text, row["measure"], currency=row["currency"])
        prior = f", restated before by {shown(row['prior_restated_amount'])}" if row["prior_restated_amount"] else ""
        state = f"posted to {plain(row['posted_period'])}" if row["posted_period"] else "unposted"
        closed_again = f"{state}, reversed in {plain(row['reversed_period'])}" if row["reversed_period"] else ""
        yield from wrapped(
            f"restatement {row['restatement_no']}: {row['measure']} of {row['closed_business_date']} "
            f"({row['sale_class']}), at close {shown(row['closed_amount'])}{prior}, "
            f"now {shown(row['current_amount'])}, restated by {shown(row['restatement_amount'])}; "
            f"{row['cause']}, detected {moment(row['detected_at'])}, "
            + (state if row["is_close_active"] else closed_again or "day reopened")
        )


def _change(change: Mapping[str, Any], currency: str | None) -> str:
    if change["old_value"] is None and change["new_value"] is None:
        return " changed"
    is_price = change["field"] in PRICES
    old, new = (
        "nothing" if value is None else money(Decimal(value), currency) if is_price else plain(value)
        for value in (change["old_value"], change["new_value"])
    )
    return f": {old} → {new}"


def menu_prices(db: duckdb.DuckDBPyConnection, order: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each line and modifier of an order: whether it was on a menu, and at which price."""
    currency, select = order["currency"], "from mart.price_variances where order_id = ? order by line_no, modifier_no"
    if not (found := records(db, f"{select} nulls first", [order["order_id"]])):
        return
    yield ""
    yield "Menu prices as observed when it was placed"
    if all(row["menu_match"] == "menu_unknown" for row in found):
        yield "  not comparable: on no menu of the store that has been observed in time"
        return
    if any(row["menu_match"] == "first_seen_later" for row in found):
        yield from wrapped("no menu of the store had been observed by then: compared with each as first seen later")
    for row in found:
        item = f"{row['line_no']}" + ("" if row["modifier_no"] is None else f", modifier {row['modifier_no']}")
        compared = _comparison(row, currency, _seen(db, order, row))
        yield from wrapped(f"line {item}: {money(row['price'], currency)} {compared}")


def _seen(db: duckdb.DuckDBPyConnection, order: Mapping[str, Any], row: Mapping[str, Any]) -> _Seen:
    """Return the store's menus that offered an item when it was compared, since when they did so, and their prices."""
    table, delivery_price = "core.menu_price_versions", "delivery_price"
    item = "product_id = $product_id and $modifier_id is null"
    if row["modifier_no"] is not None:
        table, delivery_price = "core.modifier_price_versions", "null::decimal(18, 4)"
        item = "modifier_id = $modifier_id and (parent_type = 'modifier' or parent_id = $product_id)"
    then = _FIRST_SEEN if row["menu_match"] == "first_seen_later" else "$created_at"
    return db.execute(
        f"select menu_id, max(observed_from), list_sort(list(distinct {{price: price, delivery: {delivery_price}}})) "
        f"from {table} as seen "
        "where menu_id in (select menu_id from core.store_menus where store_id = $store_id) "
        f"and coalesce(observed_from <= {then}, true) "
        f"and (is_current or change_seen_at > {then}) and {item} group by menu_id order by menu_id",
        {name: order[name] for name in ("store_id", "created_at")}
        | {name: row[name] for name in ("product_id", "modifier_id")},
    ).fetchall()


def _comparison(row: Mapping[str, Any], currency: str | None, seen: _Seen) -> str:
    if row["menu_match"] == "menu_unknown":
        return "is on no menu observed by then; others had not been observed"
    if row["menu_match"] == "none":
        return "is on no menu of the store"
    entries = counted(row["menu_entry_count"], "menu entry", "menu entries")
    first = "first " * (row["menu_match"] == "first_seen_later")
    is_neither = row["price_match"] == "neither"
    menus = [
        f"menu {menu_id}{_asked(prices, currency) * is_neither}, {first}seen {moment(seen_at)}"
        for menu_id, seen_at, prices in seen
    ]
    known = [
        f"{name} {money(row[f'menu_{field}'], currency)}"
        + (f", variance {money(row[f'{field}_variance'], currency)}" if row[f"{field}_variance"] else "")
        for name, field in (("price", "price"), ("delivery price", "delivery_price"))
        if row[f"menu_{field}"] is not None
    ]
    said = "; ".join([*menus, entries, *known])
    return f"{_MATCHES[row['price_match']]}{f': {said}' if is_neither else f' ({said})'}"


def _asked(prices: list[dict[str, Decimal | None]], currency: str | None) -> str:
    """Return the prices of a menu's entries: " has 4.60 (delivery 5.10) or 4.80"."""
    said = [
        money(each["price"], currency)
        + ("" if each["delivery"] is None else f" (delivery {money(each['delivery'], currency)})")
        for each in prices
    ]
    return f" has {' or '.join(said)}"


Record = dict[str, Any]
_POINTER_COLUMNS = 28
_AMOUNT_COLUMNS = 14
_PERSONAL = {
    "phone": "has_user_phone",
    "e-mail": "has_user_email",
    "address": "has_user_address",
    "name": "has_user_name",
    "apartment": "has_apartment_details",
    "latitude": "has_user_latitude",
    "longitude": "has_user_longitude",
    "dispatch note": "has_dispatch_note",
}
NO_AMOUNT = {
    "no_rule": "no subtotal rule is in force",
    "missing_input": "a required price or quantity is missing or out of range",
    "undecided": "subtotal rules that remain give this line different amounts",
}


def explain_order(settings: Settings, order_id: int, limits: ReadLimits | None = None) -> list[str]:
    """Return an order's receipt; raise FinanceError without a release or the order, or beyond a limit."""
    with open_release(settings, limits) as release:
        if not (lines := receipt(release.con, order_id)):
            raise FinanceError(" ".join(_unknown(release.con, settings, order_id)))
        if numbers := numbers_of(release, order_id):
            lines += ["", "Exported in the journal's entries", *(f"  {number}" for number in numbers)]
    return lines


def receipt(db: duckdb.DuckDBPyConnection, order_id: int) -> list[str]:
    """Return an order's receipt, at most 80 columns wide; an empty list if the release lacks the order."""
    query = "select core.*, mart.* exclude (order_id)"
    query += " from core.orders as core inner join mart.orders as mart using (order_id) where core.order_id = ?"
    return [line for found in records(db, query, [order_id]) for line in _receipt(db, found)]


def _receipt(db: duckdb.DuckDBPyConnection, order: Record) -> Iterator[str]:
    order_id = order["order_id"]
    (checked,) = records(db, "from mart.order_reconciliation where order_id = ?", [order_id])
    (rules,) = records(db, "from audit.order_rules where order_id = ?", [order_id])
    rule = line_rule(db, rules["line_rule"], order["currency"])  # some have one although the subtotal is undecided
    yield from _head(order)
    yield from _document(db, order, checked.get("absent_fields"))
    yield from _lines(db, order, rule)
    yield from menu_prices(db, order)
    yield ""
    yield _row("Price fields", "as sent", "pointer")
    for field in PRICES:
        yield from _amount(f"  {field}", order[field], order["currency"], f"/{field}")
    yield from identities(db, order, checked, rules, rule)
    found = records(db, "from core.order_deliveries where order_id = ? order by delivery_no", [order_id])
    if found:
        yield ""
        yield "Deliveries"
    for delivery in found:
        yield from wrapped(
            f"{delivery['delivery_no']}. {_text(delivery['type'])}, {_text(delivery['status'])}; confirmation code "
            f"{_mask(delivery['has_confirmation_code'])}, tracking URL {_mask(delivery['has_tracking_url'])}"
        )
    yield from order_settlements(db, order_id)
    yield ""
    yield "Personal data (encrypted in the vault, never shown)"
    yield from wrapped("; ".join(f"{name}: {_mask(order[column])}" for name, column in _PERSONAL.items()))
    yield from history(db, order)


def _head(order: Record) -> Iterator[str]:
    store = plain(order["store_name"] or "unnamed store")
    yield from wrapped(f"Order {order['order_id']} at {store} (store {_text(order['store_id'])})", 0)
    yield from wrapped(
        f"business day {_text(order['business_date'], 'unknown')}, sale class {order['sale_class']}; status "
        f"{_text(order['status'])}, platform {_text(order['platform'])}, dispatch method "
        f"{_text(order['dispatch_method'])}"
    )
    times = {
        "created": order["created_at_local"],
        "requested for": order["requested_time_local"],
        "delivery promised for": order["promised_delivery_time_local"],
        "pick-up promised for": order["promised_pick_up_time_local"],
    }
    for label, at in times.items():
        if at is not None:
            yield f"  {label} {at:%Y-%m-%d %H:%M:%S} {order['timezone']}"
    origin = "the store record" if order["timezone_source"] == "store" else "[business_day]: the store record has none"
    yield from wrapped(f"timezone from {origin}; amounts in {plain(order['currency'] or 'an unstated currency')}")


def _document(db: duckdb.DuckDBPyConnection, order: Record, absent: Sequence[str] | None) -> Iterator[str]:
    yield ""
    yield "Document (JSON pointers below refer to it)"
    yield f"  sha256 {order['_payload_sha256']}"
    yield from wrapped(f"first seen {moment(order['_fetched_at'])}, last checked {moment(order['last_checked_at'])}")
    yield from wrapped(f"load {order['_load_id']}")
    if absent:
        yield from wrapped(f"The document lacks {', '.join(f'/{each}' for each in absent)}.")
    if order["is_deleted"]:
        yield "  Deleted at source: this is the last version received."
    query = "from audit.quarantine where kind = 'orders' and entity_id = ? and is_unresolved order by seq"
    for rejection in records(db, query, [order["order_id"]]):
        what = f"A later version was rejected, {moment(rejection['last_seen_at'])}"
        yield from wrapped(f"{what}: {_reason(rejection)}. The data below is older.")
    for suspect in records(db, "from audit.possible_duplicate_orders where order_id = ?", [order["order_id"]]):
        what = f"Possible duplicate of order {suspect['original_order_id']}"
        yield from wrapped(f"{what}: same customer, store and lines, {suspect['seconds_later']:,} seconds later.")


def _lines(db: duckdb.DuckDBPyConnection, order: Record, rule: LineRule | None) -> Iterator[str]:
    order_id, currency = order["order_id"], order["currency"]
    valued = (
        "select core.*, mart.line_amount, mart.missing_amount_reason from core.order_lines as core "
        "left join mart.order_lines as mart using (order_id, line_no) where core.order_id = ? order by line_no"
    )
    lines = records(db, valued, [order_id])
    bought = "from core.order_line_modifiers where order_id = ? order by line_no, modifier_no"
    modifiers: dict[int, list[Record]] = {}
    for modifier in records(db, bought, [order_id]):
        modifiers.setdefault(modifier["line_no"], []).append(modifier)
    yield ""
    yield _row("Lines", "price", "pointer")
    for line in lines:
        index, own = line["line_no"] - 1, modifiers.get(line["line_no"], [])
        label = f"{line['line_no']:>3}. {_item(line)}"
        yield from _amount(label, line["price"], currency, f"/items/{index}/price")
        for modifier in own:
            label = f"       {_text(modifier['action'], 'no action')} {_item(modifier)}"
            pointer = f"/items/{index}/modifiers/{modifier['modifier_no'] - 1}/price"
            yield from _amount(label, modifier["price"], currency, pointer)
        if line["has_instructions"]:
            yield "       instructions: encrypted"
        yield from _line_amount(line, own, rule, currency)
    if not lines:
        yield "  none"


def _line_amount(
    line: Record, modifiers: Sequence[Record], rule: LineRule | None, currency: str | None
) -> Iterator[str]:
    if rule is None or line["line_amount"] is None:
        yield from wrapped(f"no line amount: {NO_AMOUNT[line['missing_amount_reason'] or 'no_rule']}", 7)
        return
    yield from wrapped(f"line amount = {rule.line(line, modifiers)} = {money(line['line_amount'], currency)}", 7)


def _unknown(db: duckdb.DuckDBPyConnection, settings: Settings, order_id: int) -> Iterator[str]:
    yield f"order {order_id} is not in the current release."
    yield _work_list_entry(settings, order_id)
    query = "from audit.quarantine where kind = 'orders' and entity_id = ? order by last_seen_at desc nulls last, seq"
    rejections = records(db, query, [order_id])
    if not rejections:
        yield "audit.quarantine has no row for it."
    for each in rejections:
        times = counted(each["occurrence_count"], "time", "times")
        status = "unresolved" if each["is_unresolved"] else "resolved"
        what = f"audit.quarantine: {_reason(each)}, {times}"
        yield f"{what}, last {moment(each['last_seen_at'])} in load {each['load_id']}, {status}."


def _work_list_entry(settings: Settings, order_id: int) -> str:
    path = inbox_path(settings.data_dir)
    entry = None
    if path.exists():
        with WorkList(path) as work:
            entry = work.entry("orders", order_id)
    if entry is None:
        return "It is not on the work list: it was never requested, see `ordermart run --order-ids`."
    requesters = ", ".join(sorted(entry.why))
    state = {
        "waiting": f"queued, due {moment(entry.due_at)}",
        "started": "being fetched, or interrupted and due again",
        "done": f"fetched {moment(entry.finished_at)}",
        "dead": f"in the dead-letter queue ({entry.reason}); `ordermart retry` queues it again",
        "given_up": f"not found by the service (404), last {moment(entry.finished_at)}",
    }[entry.state]
    return f"Work list: {state} (requested by: {requesters}; attempts: {entry.attempts})."


def _reason(row: Record) -> str:
    return f"{row['reason'] or 'rejected'} at {plain(row['pointer'])}" if row["pointer"] else f"{row['reason']}"


def _amount(label: str, amount: Any, currency: str | None, pointer: str) -> Iterator[str]:
    text = money(amount, currency)
    if width(pointer) > _POINTER_COLUMNS:
        yield _row(label, text, "")
        yield f"{pointer:>{COLUMNS}}"
    else:
        yield _row(label, text, pointer)


def _row(label: str, amount: str, pointer: str) -> str:
    amount = f"{amount:>{_AMOUNT_COLUMNS}}"
    space = COLUMNS - _POINTER_COLUMNS - 4 - len(amount)
    return f"{fitted(label, space)}  {amount}  {pointer}".rstrip()


def _item(row: Record) -> str:
    """Return how often what was bought: of a line or modifier."""
    quantity = "?" if row["quantity"] is None else row["quantity"]
    return f"{quantity} × {plain(row['name']) if row['name'] else '(no name)'}"


def _mask(is_present: bool | None) -> str:
    return "not given" if is_present is None else "encrypted" if is_present else "empty"


def _text(value: object, default: str = NOT_STATED) -> str:
    return default if value is None else plain(value)
