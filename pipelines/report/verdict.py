"""Say in a sentence how a reconciliation ends; terminal, workbook and page share it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.report.text import counted

if TYPE_CHECKING:
    from pipelines.finance.reconciliation import Reconciliation


def verdict(reconciled: Reconciliation) -> str:
    """Return the outcome, without a full stop; indeterminate orders are not balanced, accepted breaks are.

    Without an order nothing is balanced.
    """
    found = [counted(number, kind, f"{kind}s") for kind, number in reconciled.variances().items() if number]
    if indeterminate := reconciled.indeterminate_count():
        found.append(counted(indeterminate, "indeterminate order", "indeterminate orders"))
    if not found and not reconciled.lines():
        return "Nothing to reconcile: no order is selected"
    outcome = f"Not balanced: {', '.join(found)}" if found else "Balanced: no variances"
    accepted = reconciled.accepted_break_count()
    return f"{outcome}; {counted(accepted, 'accepted break', 'accepted breaks')}" if accepted else outcome


def undated(reconciled: Reconciliation) -> str:
    """Return a note about orders that no span of days can include, '' if there are none."""
    number = reconciled.undated_order_count()
    return f"Not included: {counted(number, 'order', 'orders')} without a known business day." if number else ""
