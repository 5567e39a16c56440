"""Nightly maintenance after the release: prune by retention, merge small raw files into one per day, and per month.

A failed task is reported and stops neither the run nor the other tasks.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from pipelines.clock import utc_now
from pipelines.inbox.deliveries import prune_deliveries
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.landing import merge_days
from pipelines.settings.kinds import KINDS
from pipelines.vault import open_vault
from pipelines.warehouse import warehouse_file
from pipelines.warehouse.building.order_lookup import created_before
from pipelines.warehouse.verify import VerifyError, verify_next

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.settings import Settings


FRACTION = Fraction(1, 64)  # of the orders and days is verified each night


class TaskResult(NamedTuple):
    """The result of one task: how many items it handled, or the error that stopped it."""

    task: str
    items: int
    error: str = ""

    def sentence(self) -> str:
        """Describe the result."""
        return f"{self.task}: failed, {self.error}" if self.error else f"{self.task}: {self.items:,}"


def run_maintenance(settings: Settings, now: datetime | None = None) -> list[TaskResult]:
    """Run every maintenance task and return their results; raise nothing."""
    now = now or utc_now()
    return [_result(task, run, settings, now) for task, run in _TASKS.items()]


def _result(task: str, run: Callable[[Settings, datetime], int], settings: Settings, now: datetime) -> TaskResult:
    try:
        return TaskResult(task, run(settings, now))
    except Exception as error:  # noqa: BLE001 -- report and continue: maintenance must not fail the run
        is_own = type(error).__module__.startswith("pipelines.")  # a library may quote a value of a document
        return TaskResult(task, 0, f"{type(error).__name__}: {error}" if is_own else type(error).__name__)


def _prune_entries(settings: Settings, now: datetime) -> int:
    with WorkList(inbox_path(settings.data_dir)) as work:
        return work.prune(now - timedelta(days=settings.webhooks.retention_days))


def _prune_deliveries(settings: Settings, now: datetime) -> int:
    return prune_deliveries(inbox_path(settings.data_dir), now - timedelta(days=settings.webhooks.retention_days))


def _purge_quarantine(settings: Settings, now: datetime) -> int:
    with open_vault(settings) as vault:
        return vault.refused.purge(now)


def _expire(settings: Settings, now: datetime) -> int:
    """Destroy the personal data of orders older than [privacy] retention_days; return of how many."""
    if not settings.privacy.retention_days:
        return 0
    limit = now - timedelta(days=settings.privacy.retention_days)
    with open_vault(settings) as vault:
        return vault.erasing.expire(created_before(settings.data_dir, limit), limit)


def _merge(settings: Settings, now: datetime) -> int:
    return sum(merge_days(settings.data_dir, kind, now.date()) for kind in KINDS)


def _verify(settings: Settings, _now: datetime) -> int:
    """Verify the next part of the warehouse; return how many orders it proved, raise VerifyError if rows differ."""
    if not settings.verify.seconds or not warehouse_file(settings.data_dir).exists():
        return 0
    verified = verify_next(settings, FRACTION, timedelta(seconds=settings.verify.seconds))
    if verified.differences:
        raise VerifyError(
            f"{verified.differences[0].sentence()}; {len(verified.differences) - 1} more differences. "
            "Run `ordermart build --full` and report it"
        )
    return verified.orders


_TASKS: dict[str, Callable[[Settings, datetime], int]] = {
    "finished work-list entries pruned": _prune_entries,
    "old deliveries pruned": _prune_deliveries,
    "quarantined payloads purged": _purge_quarantine,
    "orders whose personal data expired": _expire,
    "loads of past days merged": _merge,
    "orders rebuilt from raw and compared": _verify,
}
