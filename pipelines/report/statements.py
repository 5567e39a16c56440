"""The evidence of a reconciliation, as one list: section, item, statement, orders, amount."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.finance.reconciliation import Reconciliation

_FIELDS = "{0} as section_no, {1} as section, {2} as item, {3} as statement, {4} as orders, {5} as amount"
_NONE = "cast(null as bigint)"
_NO_AMOUNT = "cast(null as decimal(38, 4))"


def statements(reconciled: Reconciliation) -> str:
    """Return a select of statements about the release, its rules, their evidence, and findings."""
    parts = [_release(reconciled), _rules(), _rule_evidence(), _verdicts(reconciled)]
    if "audit.control_totals" in reconciled.tables:
        parts.append(_totals(reconciled))
    if "audit.status_evidence" in reconciled.tables:
        parts.append(_statuses())
    if "audit.possible_duplicate_orders" in reconciled.tables:
        parts.append(_duplicates(reconciled))
    parts.append(_findings())
    return (
        f"select section, item, statement, orders, amount from ({' union all '.join(parts)}) order by section_no, item"
    )


def _release(reconciled: Reconciliation) -> str:
    manifest = reconciled.manifest
    facts = {
        "release": manifest.id,
        "published at": f"{manifest.published_at} (UTC)",
        "selection": reconciled.selection.description,
        "commit of the warehouse": manifest.commit,
        "SHA-256 of the code": manifest.code.get("sha256", ""),
        "hash of the settings": manifest.settings,
    }
    rows = ", ".join(f"({no}, {_quoted(item)}, {_quoted(fact)})" for no, (item, fact) in enumerate(facts.items()))
    fields = _FIELDS.format("no", "'release'", "item", "fact", _NONE, _NO_AMOUNT)
    return f"select {fields} from (values {rows}) as facts (no, item, fact)"


def _rules() -> str:
    where = "concat_ws(' ', force.part, 'in', nullif(force.scope, 'all'), force.scope_value)"
    statement = (
        "if(force.rule is null, 'no rule: orders refute the default and support no other', "
        "concat_ws(': ', force.rule, rules.sentence) || "
        "if(force.source = 'setting', ' (set by [formula])', ' (supported by orders)'))"
    )
    fields = _FIELDS.format(12, "'rule in force'", where, statement, _NONE, _NO_AMOUNT)
    return (
        f"select {fields} from audit.formula_rules_in_force as force left join audit.formula_rules as rules "
        "on force.part = rules.part and force.rule = rules.rule"
    )


def _rule_evidence() -> str:
    statement = (
        "concat_ws('; ', rule || ': ' || coalesce(reason, verdict || ', fits ' || fits || ' of ' || orders), "
        "'deciding cases: ' || nullif(array_to_string(would_decide, ', '), ''))"
    )
    fields = _FIELDS.format(13, "'evidence for rules'", "part", statement, "orders", "residual_sum")
    return (
        f"select {fields} from audit.formula_evidence where scope = 'all' "
        "and (reason is not null or is_fixed or verdict = 'supported')"
    )


def _verdicts(reconciled: Reconciliation) -> str:
    fields = _FIELDS.format(14, "'verdicts'", "item", "statement", "orders", _NO_AMOUNT)
    return (
        f"select {fields} from (select verdict as item, concat_ws('; ', nullif(concat_ws(', ', 'total: ' || "
        "total_likely_cause, 'subtotal: ' || subtotal_likely_cause), ''), reason) as statement, count(*) as orders "
        f"from mart.order_reconciliation as rows where {reconciled.selection.where()} group by all)"
    )


def _totals(reconciled: Reconciliation) -> str:
    item = "strftime(business_date, '%Y-%m-%d') || ' store ' || store_id || ' ' || amount_field"
    statement = (
        "concat_ws('; ', comparison, unknown_reason, 'control ' || control_order_count || ' orders', "
        "'actual ' || actual_order_count || ' orders', 'control ' || control_amount, 'actual ' || actual_amount, "
        "'counted: ' || sale_classes)"
    )
    fields = _FIELDS.format(15, "'control total'", item, statement, "order_count_variance", "amount_variance")
    return f"select {fields} from audit.control_totals as rows where {reconciled.selection.where()}"


def _statuses() -> str:
    statement = (
        "concat_ws('; ', 'sale class ' || sale_class, 'with a total of zero: ' || zero_total_count, "
        "'followed by another status: ' || nullif(transitioned_count, 0) || ' (' "
        "|| array_to_string(next_statuses, ', ') || ')', currency)"
    )
    item = "coalesce(status, 'no status')"
    fields = _FIELDS.format(16, "'statuses, all days'", item, statement, "orders", "total_price")
    return f"select {fields} from audit.status_evidence"


def _duplicates(reconciled: Reconciliation) -> str:
    statement = "'possible duplicate of order ' || original_order_id || ', ' || seconds_later || ' seconds later'"
    fields = _FIELDS.format(17, "'possible duplicates'", "cast(order_id as varchar)", statement, _NONE, "total_price")
    return f"select {fields} from audit.possible_duplicate_orders as rows where {reconciled.selection.where()}"


def _findings() -> str:
    fields = _FIELDS.format(18, "'findings, all days'", "item", "statement", "orders", _NO_AMOUNT)
    return (
        f"select {fields} from (select check_name as item, 'rows in audit.findings' as statement, count(*) as orders "
        "from audit.findings group by all)"
    )


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
