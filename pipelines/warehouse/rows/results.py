"""What a build says afterwards: which checks ran, what they found, how many rows there are.

Samples hold business keys and places, never the value of a text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.warehouse.catalogue.tables import Severity

SAMPLE = 10


@dataclass(frozen=True)
class CheckResult:
    """How often a claim does not hold, with the keys of the first ten places."""

    name: str
    table: str
    severity: Severity
    violations: int
    sample: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class BuildResult:
    """What a build did; `why` is one sentence, `rows` counts every table as it now is.

    `notes` are sentences for the run's user: damage, and its repair. `changed_tables` are those
    of which a row differs from before, `changed_checks` the checks of which a finding does; of a full build, all.
    """

    changed: bool
    full: bool
    why: str
    rows: Mapping[str, int]
    checks: list[CheckResult]
    notes: tuple[str, ...] = ()
    changed_tables: frozenset[str] = frozenset()
    changed_checks: frozenset[str] = frozenset()


class BuildBlocked(Exception):
    """A blocking check found violations: nothing was committed, the previous release stays current."""

    def __init__(self, checks: list[CheckResult]) -> None:
        self.checks = checks
        self.failed = [each for each in checks if each.severity == "blocking" and each.violations]
        named = "; ".join(f"{each.name}: {each.violations}, first {each.sample[:1]}" for each in self.failed)
        super().__init__(f"nothing was committed, the previous release stays current: {named}")


class Tally:
    """Adds up what a check finds in several parts of a table."""

    def __init__(self) -> None:
        self._found: dict[str, CheckResult] = {}

    def add(self, result: CheckResult) -> None:
        """Count the result of one part."""
        known = self._found.get(result.name)
        if known is not None:
            result = CheckResult(
                result.name,
                result.table,
                result.severity,
                known.violations + result.violations,
                (known.sample + result.sample)[:SAMPLE],
            )
        self._found[result.name] = result

    def results(self) -> list[CheckResult]:
        """Return one result per check, in the order in which they first ran."""
        return list(self._found.values())

    def raise_if_blocked(self) -> None:
        """Raise BuildBlocked when a blocking check found anything."""
        if any(each.severity == "blocking" and each.violations for each in self._found.values()):
            raise BuildBlocked(self.results())


def plain(value: Any) -> Any:
    """Return a value of a sample as JSON can show it."""
    return value if value is None or isinstance(value, int | str | bool) else str(value)
