"""Write the state of a data folder for a terminal, what needs somebody first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_GB = 10**9
_STATES = {"dead": "in the dead-letter queue (`ordermart retry` requests them again)"}


def status_lines(state: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a state."""
    for alarm in state["alarms"]:
        yield f"ALARM since {alarm['since']}: {alarm['text']}"
    last, good = state["last_run"], state["last_good_at"]
    if last is None:
        yield "Last run: none yet; start one with `ordermart run`."
    else:
        yield f"Last run: {last['outcome']}, ended {last['ended_at']}. {last['sentence']}"
        late = f", older than [notify] max_age_hours = {state['max_age_hours']:g}" if state["is_stale"] else ""
        yield f"Last good night: {good or 'none'}{late}"
    yield f"Running now: {state['lock_holder'] or 'nothing'}"
    schedule = state["schedule"]
    due = f"next {schedule['next_tick'] or 'unknown'}, if Dagster's daemon is up" if schedule["is_on"] else "off"
    yield f"Schedule: {schedule['cron']} ({schedule['timezone']}), {due}"
    yield from _release_lines(state["release"])
    if state["publication_due"]:
        yield f"Changes wait for the next release, due {state['publication_due']}"
    verified = state["verification"]
    if verified is None:
        yield "Last verification: none yet"
    else:
        wrong = verified["differing"]
        proof = f"{wrong:,} PARTS DIFFER: see audit.verifications" if wrong else "every row the same"
        yield f"Last verification: {verified['verified_at']}, {proof}"
    backup = state["last_backup"]
    yield f"Last backup: {backup['taken_at']}, {backup['path']}" if backup else "Last backup: none known"
    for kind, counts in state["work_list"].items():
        yield f"Work list, {kind}: " + ", ".join(
            f"{number:,} {_STATES.get(name, name)}" for name, number in counts.items()
        )
    if state["free_bytes"] is not None:
        yield f"Free on the disk: {state['free_bytes'] / _GB:.1f} GB"


def _release_lines(release: Mapping[str, Any] | None) -> Iterator[str]:
    if release is None:
        yield "Release: none yet"
        return
    hours = release["age_hours"]
    age = "" if hours is None else f" ({hours:,.1f} hours ago)" if hours >= 0 else f" ({-hours:,.1f} hours ahead)"
    yield f"Release: {release['id']}, published {release['published_at']}{age}, {release['path']}"
    if release["error"]:
        yield f"  it cannot be read ({release['error']}); the next run publishes it again"
        return
    quarantine = release["quarantine"]
    total = sum(row["count"] for row in quarantine)
    yield f"Quarantined or failed: {total:,}" + "".join(
        f"; {row['kind']} {row['reason']} {row['count']:,}" for row in quarantine
    )
