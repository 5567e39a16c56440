"""What a night tidies up after its release: what was kept long enough goes, small files become one a day.

Knows nothing of Dagster. A chore that fails is said, and costs neither the night nor the other chores.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from pipelines.inbox.deliveries import forget_deliveries
from pipelines.inbox.receiver import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.landing import merge_days
from pipelines.settings.kinds import KINDS
from pipelines.vault import open_vault
from pipelines.warehouse.verify import VerifyError, verify_next

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.settings import Settings


FRACTION = Fraction(1, 64)  # of the orders and days is verified a night


class Chore(NamedTuple):
    """One chore: what it does, how many things it did it to, or the error that kept it from being done."""

    what: str
    number: int
    error: str = ""

    def sentence(self) -> str:
        """Say what became of it."""
        return f"{self.what}: not done, {self.error}" if self.error else f"{self.what}: {self.number:,}"


def do_chores(settings: Settings, now: datetime | None = None) -> list[Chore]:
    """Do every chore, and return what became of each; raise nothing."""
    now = now or datetime.now(UTC)
    return [_done(what, do, settings, now) for what, do in _CHORES.items()]


def _done(what: str, do: Callable[[Settings, datetime], int], settings: Settings, now: datetime) -> Chore:
    try:
        return Chore(what, do(settings, now))
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is said, and the night goes on
        return Chore(what, 0, f"{type(error).__name__}: {error}")


def _prune(settings: Settings, now: datetime) -> int:
    with WorkList(inbox_path(settings.data_dir)) as work:
        return work.prune(now - timedelta(days=settings.webhooks.retention_days))


def _forget(settings: Settings, now: datetime) -> int:
    return forget_deliveries(inbox_path(settings.data_dir), now - timedelta(days=settings.webhooks.retention_days))


def _purge(settings: Settings, now: datetime) -> int:
    with open_vault(settings) as vault:
        return vault.refused.purge(now)


def _merge(settings: Settings, now: datetime) -> int:
    return sum(merge_days(settings.data_dir, kind, now.date()) for kind in KINDS)


def _verify(settings: Settings, _now: datetime) -> int:
    """Verify the next part of the warehouse; return how many orders it proved, raise VerifyError where rows differ."""
    if not settings.verify.seconds:
        return 0
    verified = verify_next(settings, FRACTION, timedelta(seconds=settings.verify.seconds))
    if verified.differences:
        raise VerifyError(
            f"{verified.differences[0].sentence()}; {len(verified.differences) - 1} more differences. "
            "Run `ordermart build --full` and report it"
        )
    return verified.orders


_CHORES: dict[str, Callable[[Settings, datetime], int]] = {
    "finished entries of the work list forgotten": _prune,
    "old deliveries forgotten": _forget,
    "bodies of refused documents forgotten": _purge,
    "orders rebuilt from raw and compared": _verify,
    "loads of past days merged": _merge,
}
