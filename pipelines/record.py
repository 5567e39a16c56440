"""The record of a run: what it was, what each step did, and how it ended. One file below `data/runs` for each run.

The file is replaced whenever a step begins or ends, so that the record of a killed run stays, without an end. The
holder of the run lock knows that no other run is alive: a record that is not told yet is then of a run that ended
without telling, and has to be told. All that is said of a run is read from its record: summary, page, alarms,
status, exit code, and what Dagster shows.

A record holds sentences of this project, counts and names; never a text of the partner's or of a library.

The answer to a question on which people rely, such as whether a night was good, has one type for all of them. The exit
code of a command, which follows from an answer, a run or an error, is decided here and in `Run.exit_code`.
"""

import datetime as dt
import enum
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from pipelines.clock import utc_now
from pipelines.durable import make_folder, write_whole
from pipelines.inventory import InventoryError, changing, forget_files, size_and_sha256

SHELL = 128  # a shell's exit code for a process ended by a signal is this and its number


class Exit(enum.IntEnum):
    """The exit codes of a command; an error that ends one may have another than FAILED as its `exit_code`."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    OPEN = 3  # done, and something is left for a person
    LOCKED = 4


def code_of(*, is_open: object, has_failed: object = False) -> Exit:
    """Return the exit code of a command that did its work, by what it found."""
    return Exit.FAILED if has_failed else Exit.OPEN if is_open else Exit.DONE


def code_of_error(error: Exception) -> int:
    """Return the exit code of an error that ends a command."""
    return int(getattr(error, "exit_code", Exit.FAILED))


class Verdict(NamedTuple):
    """The counts of all that was checked; each fault, and each part that could not be checked, as a sentence."""

    checked: Mapping[str, int]
    wrong: Sequence[str] = ()
    unchecked: Sequence[str] = ()

    @property
    def is_good(self) -> bool:
        """Whether something was checked, and nothing is wrong or could not be checked."""
        return bool(self.checked) and not self.against

    @property
    def against(self) -> list[str]:
        """All that stands against it."""
        return [*self.wrong, *self.unchecked]

    def counts(self) -> str:
        """Return the counts, for a sentence."""
        return ", ".join(f"{count:,} {what}" for what, count in self.checked.items())


RunKind = Literal["night", "webhooks"]
NIGHT: RunKind = "night"  # requests everything that may have changed, and ends with maintenance
WEBHOOKS: RunKind = "webhooks"  # requests only due ids
KINDS_OF_RUNS: tuple[RunKind, ...] = (NIGHT, WEBHOOKS)
KILLED = "a kill"
# The tasks of maintenance whose failure is an alarm.
VERIFYING = "orders rebuilt from raw and compared"
COPYING = "copies of the release written"
_KEPT = 60  # of each kind
_TIME = "%Y%m%dT%H%M%S%f"
_RESUMABLE_FOR = dt.timedelta(hours=12)  # a later run is the next night's: it requests everything again


class Step(msgspec.Struct):
    """A part of a run; one without an end is under way, or was when its run was stopped.

    `counts` are documents by verdict, or what maintenance handled by task. `shortfalls` are sentences on documents not
    up to date, or tasks not done, although the step ended; `error` is why it failed.
    """

    name: str
    started_at: dt.datetime
    ended_at: dt.datetime | None = None
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    said: list[str] = msgspec.field(default_factory=list)
    shortfalls: list[str] = msgspec.field(default_factory=list)
    is_outage: bool = False  # the service gave no usable answer for too long
    asked: int = 0  # ids that were due
    error: str = ""


class Run(msgspec.Struct):
    """A run of some kind; `id` sorts by time. Nothing of it can be unknown but its end."""

    id: str
    kind: RunKind
    started_at: dt.datetime
    pid: int = 0
    dagster_run_id: str = ""  # "": a command runs it
    resumes: dt.datetime | None = None  # when the killed or stopped run began that this one resumes
    steps: list[Step] = msgspec.field(default_factory=list)
    ended_at: dt.datetime | None = None
    error: str = ""  # why it could not begin
    error_code: int = 0  # the exit code for that
    stopped_by: str = ""  # the name of a signal, KILLED, or "an interruption"
    release_before: str = ""  # the current release when it began; "": none
    release: str = ""  # the current release when it ended
    why_kept: str = ""  # why it published nothing, although it could
    keys: list[str] = msgspec.field(default_factory=list)  # that the settings file has
    doubts: list[str] = msgspec.field(default_factory=list)  # sentences on settings that look wrong
    rows: dict[str, int] = msgspec.field(default_factory=dict)  # of each table that changed
    validated: dict[str, int] = msgspec.field(default_factory=dict)  # rows that a Pandera schema was held to, by table
    checks: int = 0  # that ran, or that hold since the last build
    failing: list[tuple[str, str, int]] = msgspec.field(default_factory=list)  # table, check, violations
    refused: int = 0  # documents that are quarantined or failed, in the current release
    newly_refused: int = 0  # of these, in the release before it was not
    sentence: str = ""  # what it did, and its alarms
    unwritten: str = ""  # why the morning page could not be written
    is_told: bool = False  # alarms were sent, and the page was written

    @property
    def errors(self) -> list[str]:
        """Why it failed, or could not begin, a sentence each."""
        of_steps = [f"{step.name}: {step.error}" for step in self.steps if step.error]
        return [*([self.error] if self.error else []), *of_steps]

    @property
    def run_state(self) -> str:
        """How it ended, in a word: good, incomplete, failed, stopped or killed; running, as long as it has no end."""
        if self.assess().is_good:
            return "good"
        if self.stopped_by:
            return "killed" if self.stopped_by == KILLED else "stopped"
        return "failed" if self.errors else "incomplete" if self.ended_at else "running"

    def assess(self) -> Verdict:
        """Whether it was good: how much it did, all that went wrong, and whether it came to its end."""
        wrong = [*self.errors, *(each for sentences in self.incomplete.values() for each in sentences), *self.damaged]
        wrong += [self.unwritten] if self.unwritten else []
        asked = sum(step.asked for step in self.steps)
        checked = {"steps": sum(bool(step.ended_at) for step in self.steps), "ids asked": asked, "checks": self.checks}
        unended = f"it {self.how}" if self.stopped_by else "" if self.ended_at else "it has no end"
        return Verdict(checked, [*wrong, *self.doubts], [unended] if unended else [])

    def exit_code(self, *, is_strict: bool = False) -> int:
        """Return the exit code of `ordermart run`; if strict, also for what was refused before."""
        if self.error:
            return self.error_code
        if self.stopped_by:
            return SHELL + getattr(signal, self.stopped_by, signal.SIGINT)
        is_refused = self.refused if is_strict else self.newly_refused
        return code_of(is_open=is_refused or self.run_state == "incomplete", has_failed=not self.did_all_steps)

    @property
    def did_all_steps(self) -> bool:
        """Whether it did all its steps: it published a release, or had nothing to publish."""
        return self.run_state in {"good", "incomplete"}

    @property
    def is_new(self) -> bool:
        """Whether it published another release."""
        return self.release != self.release_before

    @property
    def landed(self) -> dict[str, dict[str, int]]:
        """What came, by kind of document and verdict."""
        return {step.name: step.counts for step in self.steps if step.name in FETCHING}

    @property
    def incomplete(self) -> dict[str, list[str]]:
        """Why a kind of document is not up to date, by kind."""
        return {step.name: step.shortfalls for step in self.steps if step.name in FETCHING and step.shortfalls}

    @property
    def notes(self) -> list[str]:
        """Further sentences of its steps."""
        return [sentence for step in self.steps for sentence in step.said]

    @property
    def mended(self) -> list[str]:
        """What was found damaged or unusual before anything else was done, and mended where it could be."""
        return [each for step in self.steps if step.name == "heal" for each in step.said]

    @property
    def damaged(self) -> list[str]:
        """Which files differ from the inventory and could not be mended, a sentence each."""
        return [each for step in self.steps if step.name == "heal" for each in step.shortfalls]

    @property
    def undone(self) -> list[str]:
        """Which tasks of maintenance failed, a sentence each."""
        return [each for step in self.steps if step.name == "maintenance" for each in step.shortfalls]

    @property
    def is_outage(self) -> bool:
        """Whether the service gave no usable answer for too long."""
        return any(step.is_outage for step in self.steps)

    @property
    def validations(self) -> str:
        """How many rows Pandera validated, by how many schemas."""
        return f"{sum(self.validated.values()):,} rows by {len(self.validated):,} schemas"

    @property
    def seconds(self) -> float:
        """How long it took, as far as that is known."""
        return round(((self.ended_at or self.started_at) - self.started_at).total_seconds(), 1)

    @property
    def how(self) -> str:
        """What became of a run that did not end by itself, as a verb and where that was."""
        what = "was killed" if self.stopped_by == KILLED else f"was stopped by {self.stopped_by}"
        return f"{what} {self.where}"

    @property
    def where(self) -> str:
        """The step in which it ended, or is."""
        if not self.steps:
            return "before its first step"
        return f"{'in' if self.steps[-1].ended_at is None else 'after'} step {self.steps[-1].name}"


FETCHING = ("stores", "menus", "orders")  # the steps that fetch documents: one for each kind


def new_run(kind: RunKind, started_at: dt.datetime | None = None, *, dagster_run_id: str = "") -> Run:
    """Return a run that begins; nothing is written."""
    at = started_at or utc_now()
    return Run(f"{at.astimezone(dt.UTC):{_TIME}}-{kind}", kind, at, os.getpid(), dagster_run_id)


def save(data_dir: Path, run: Run) -> None:
    """Write the record of a run, whole or not at all, or raise OSError; one that was told is noted in the inventory."""
    make_folder(_folder(data_dir), 0o700)
    path = _folder(data_dir) / f"{run.id}.json"
    write_whole(path, msgspec.json.format(msgspec.json.encode(run), indent=1))
    if run.is_told:
        with suppress(InventoryError), changing(data_dir) as inventory:
            if inventory.no:
                inventory.files.setdefault(f"runs/{path.name}", size_and_sha256(path))


def forget_old(data_dir: Path) -> None:
    """Remove the oldest records of each kind."""
    names = sorted(file.name for file in _folder(data_dir).glob("*.json"))
    for kind in KINDS_OF_RUNS:
        old = [_folder(data_dir) / each for each in names if each.endswith(f"-{kind}.json")][:-_KEPT]
        if old:
            forget_files(data_dir, old)
        for path in old:
            path.unlink(missing_ok=True)


def runs(data_dir: Path) -> list[Run]:
    """Return the runs that are remembered, oldest first; one whose record cannot be read is said to be unknown.

    Those that began while the clock was ahead of now come before all others: none of them is the last one.

    Raise PermissionError, with the name of the folder, where this user may not list it.
    """
    folder = _folder(data_dir)
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))  # noqa: PTH208 -- glob hides errors
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = [_read(folder / name) for name in names]
    now = utc_now()
    return sorted((run for run in found if run is not None), key=lambda run: (not is_ahead(run, now), run.id))


def is_ahead(run: Run, now: dt.datetime) -> bool:
    """Whether a run began later than now, by a clock that was ahead: it says nothing about the time until then."""
    return run.started_at > now + dt.timedelta(minutes=5)


def ended_runs(data_dir: Path, *, is_any_alive: bool) -> list[Run]:
    """Return the runs that ended, oldest first; one without an end was killed, unless it is the last and is alive."""
    found = runs(data_dir)
    if is_any_alive and found and found[-1].run_state == "running":
        found.pop()
    for run in found:
        mark_if_killed(run)
    return found


def mark_if_killed(run: Run) -> None:
    """Note of a run without an end, which is known to be alive no longer, that it was killed, and when it still was."""
    if run.ended_at is None:
        run.stopped_by = run.stopped_by or KILLED
        run.ended_at = max([run.started_at, *(step.ended_at or step.started_at for step in run.steps)])


def resumable_since(found: list[Run], now: dt.datetime) -> dt.datetime | None:
    """Return when the run began that the next one resumes: the last one, if it was killed or stopped not long ago."""
    begun = [run for run in found if run.steps]
    if not begun or not begun[-1].stopped_by:
        return None
    since = begun[-1].resumes or begun[-1].started_at
    return since if now - since <= _RESUMABLE_FOR else None


def current_release(published: Path) -> Path | None:
    """Return the folder of the release that `current` names, resolved once; None before the first."""
    current = published / "current"
    return current.resolve() if current.exists() else None


def release_before(release: Path) -> Path | None:
    """Return the folder of the release before this one; None if there is none that can be opened."""
    older = [folder for folder in sorted(release.parent.iterdir()) if folder.name < release.name]
    return older[-1] if older and (older[-1] / "ordermart.duckdb").exists() else None


def _read(file: Path) -> Run | None:
    """Return a run; None where even the name of the file is not one of a record."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Run)
    except (OSError, ValueError, msgspec.MsgspecError):
        at, _, kind = file.stem.partition("-")
        try:
            began = dt.datetime.strptime(at, _TIME).replace(tzinfo=dt.UTC)
            error = f"the record of the run cannot be read, so that how it ended is unknown: {file.name}"
            return Run(file.stem, msgspec.convert(kind, RunKind), began, ended_at=began, error=error)
        except (ValueError, msgspec.ValidationError):
            return None


def _folder(data_dir: Path) -> Path:
    return data_dir / "runs"
