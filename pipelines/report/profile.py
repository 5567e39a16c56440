"""Show the cost of each table of a build."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.warehouse.rows.profile import Profile

_SHOWN = 25
_SECOND = 10**9  # in nanoseconds
_MIB = 1 << 20


def costs(profile: Profile) -> str:
    """Return a table of the steps that took most processor time, and where the process used most memory."""
    ordered = sorted(profile.costs.items(), key=lambda item: -item[1].cpu_ns)
    whole = sum(cost.cpu_ns for _, cost in ordered) or 1
    lines = [f"{'seconds':>9}{'CPU':>9}{'share':>7}{'peak MiB':>10}  table, or check of a table"]
    lines += [
        f"{cost.clock_ns / _SECOND:9.2f}{cost.cpu_ns / _SECOND:9.2f}{cost.cpu_ns / whole:7.1%}"
        f"{cost.peak / _MIB:10,.0f}  {name}"
        for name, cost in ordered[:_SHOWN]
    ]
    if rest := ordered[_SHOWN:]:
        clock, cpu = (sum(getattr(cost, each) for _, cost in rest) for each in ("clock_ns", "cpu_ns"))
        peak = max(cost.peak for _, cost in rest)
        lines.append(
            f"{clock / _SECOND:9.2f}{cpu / _SECOND:9.2f}{cpu / whole:7.1%}{peak / _MIB:10,.0f}  {len(rest)} others"
        )
    if ordered:
        name, cost = max(ordered, key=lambda item: item[1].peak)
        lines.append(f"Most memory: {cost.peak / _MIB:,.0f} MiB, in {name}")
    return "\n".join(lines)
