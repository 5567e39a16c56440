"""Records of runs as a run leaves them, without a run."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from pipelines.record import NIGHT, Run, RunKind, Step, new_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def recorded(
    ended_at: dt.datetime,
    *,
    kind: RunKind = NIGHT,
    seconds: float = 19.3,
    is_new: bool = False,
    landed: Mapping[str, dict[str, int]] | None = None,
    incomplete: Mapping[str, Sequence[str]] | None = None,
    is_outage: bool = False,
    errors: Sequence[str] = (),
    stopped_by: str = "",
    newly_refused: int = 0,
) -> Run:
    """Return a run that ended then, and was not told; `errors` are of its build, `incomplete` sentences by kind."""
    run = new_run(kind, ended_at - dt.timedelta(seconds=seconds))
    missing, came = incomplete or {}, landed or {}
    for name in dict.fromkeys([*came, *missing]):
        counts, why = dict(came.get(name, {})), list(missing.get(name, ()))
        run.steps.append(Step(name, run.started_at, ended_at, counts, shortfalls=why))
    if is_outage or errors or stopped_by:
        of_build = errors or ("the service has failed",) if is_outage else errors
        end = None if stopped_by else ended_at
        run.steps += [Step("build", run.started_at, end, error=each, is_outage=is_outage) for each in of_build or ("",)]
    run.ended_at, run.stopped_by, run.newly_refused = ended_at, stopped_by, newly_refused
    run.release_before, run.release = "20200101T000000000000-a", "20200102T000000000000-b" if is_new else ""
    run.release = run.release or run.release_before
    return run
