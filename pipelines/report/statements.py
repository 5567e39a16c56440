"""The evidence beneath a reconciliation, as one list of statements: section, item, what it says, orders, amount.

Knows nothing of how it is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.finance.reconciliation import Reconciliation

_FIELDS = "{0} as place, {1} as section, {2} as item, {3} as says, {4} as orders, {5} as amount"
_NONE = "cast(null as bigint)"
_NO_AMOUNT = "cast(null as decimal(38, 4))"


def statements(reconciled: Reconciliation) -> str:
    """Return a select of what the release says of itself, its rules, the orders' answers, and what was found."""
    parts = [_release(reconciled), _rules(), _verdicts(reconciled)]
    if "audit.control_totals" in reconciled.tables:
        parts.append(_totals(reconciled))
    if "audit.status_evidence" in reconciled.tables:
        parts.append(_statuses())
    if "audit.possible_duplicate_orders" in reconciled.tables:
        parts.append(_duplicates(reconciled))
    parts.append(_findings())
    return f"select section, item, says, orders, amount from ({' union all '.join(parts)}) order by place, item"


def _release(reconciled: Reconciliation) -> str:
    manifest = reconciled.manifest
    said = {
        "release": manifest.id,
        "published at": f"{manifest.published_at} (UTC)",
        "selection": reconciled.selection.said,
        "commit of the warehouse": manifest.commit,
        "SHA-256 of the code": manifest.code.get("sha256", ""),
        "hash of the settings": manifest.settings,
    }
    rows = ", ".join(f"({no}, {_quoted(item)}, {_quoted(says)})" for no, (item, says) in enumerate(said.items()))
    fields = _FIELDS.format("no", "'release'", "item", "says", _NONE, _NO_AMOUNT)
    return f"select {fields} from (values {rows}) as said (no, item, says)"


def _rules() -> str:
    says = "concat_ws('; ', sentence, 'would decide: ' || nullif(array_to_string(deciding_cases, ', '), ''))"
    item = "rule_target || ', ' || scope"
    fields = _FIELDS.format(12, "'what orders show of the rules'", item, says, "order_count", _NO_AMOUNT)
    return f"select {fields} from audit.formula_populations"


def _verdicts(reconciled: Reconciliation) -> str:
    fields = _FIELDS.format(14, "'verdicts'", "item", "says", "orders", _NO_AMOUNT)
    return (
        f"select {fields} from (select verdict as item, concat_ws('; ', nullif(concat_ws(', ', 'total: ' || "
        "total_likely_cause, 'lines: ' || subtotal_likely_cause), ''), reason) as says, count(*) as orders "
        f"from mart.order_reconciliation as rows where {reconciled.selection.where()} group by all)"
    )


def _totals(reconciled: Reconciliation) -> str:
    item = "strftime(business_date, '%Y-%m-%d') || ' store ' || store_id || ' ' || amount_field"
    says = (
        "concat_ws('; ', tie_out_status, unknown_reason, 'stated ' || control_order_count || ' orders', "
        "'actual ' || actual_order_count || ' orders', 'stated ' || control_amount, 'actual ' || actual_amount, "
        "'sale classes ' || sale_classes)"
    )
    fields = _FIELDS.format(15, "'control total'", item, says, "order_count_variance", "amount_variance")
    return f"select {fields} from audit.control_totals as rows where {reconciled.selection.where()}"


def _statuses() -> str:
    says = (
        "concat_ws('; ', 'taken as ' || sale_class, 'of a total of zero: ' || zero_total_count, "
        "'next statuses: ' || nullif(transitioned_count, 0) || ' (' || array_to_string(next_statuses, ', ') || ')', "
        "currency)"
    )
    item = "coalesce(status, 'no status')"
    fields = _FIELDS.format(16, "'statuses, all days'", item, says, "order_count", "total_price")
    return f"select {fields} from audit.status_evidence"


def _duplicates(reconciled: Reconciliation) -> str:
    says = "'may repeat order ' || original_order_id || ', ' || seconds_later || ' seconds later'"
    fields = _FIELDS.format(17, "'possible duplicates'", "cast(order_id as varchar)", says, _NONE, "total_price")
    return f"select {fields} from audit.possible_duplicate_orders as rows where {reconciled.selection.where()}"


def _findings() -> str:
    fields = _FIELDS.format(18, "'findings, all days'", "item", "says", "orders", _NO_AMOUNT)
    return (
        f"select {fields} from (select check_name as item, 'rows in audit.findings' as says, count(*) as orders "
        "from audit.findings group by all)"
    )


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
