"""Keep which alarms stand, and send what changed: a new cause once, then that it is over.

The state is `data/notify/alarms.json`, written by rename. An alarm counts as told only after every channel took it, so
a mail server that is down today gets it with the next run. A cause that comes and goes sends at most three messages in
a week: the third one says so, and what has changed since is sent when the week is over. That no night was good for too
long is noticed by whatever runs, since a dead schedule cannot tell of itself.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipelines.clock import utc_now
from pipelines.notify.channels import NotifyError, channels_of
from pipelines.notify.files import read_json, write_json
from pipelines.record import NIGHT, runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from pipelines.notify.channels import Channel
    from pipelines.record import Run
    from pipelines.settings import Settings


_MOST, _WEEK = 3, dt.timedelta(days=7)  # messages for a cause
_LAST = " It came and went before: for a week, further changes are shown by `ordermart status` alone."
# Alarms that are over, by cause; {what} stands for the part of the cause after its colon.
_OVER = {
    "run_failed": "the failed run",
    "outage": "the outage of the partner service",
    "incomplete": "{what} that were not up to date",
    "settings": "settings that looked wrong",
    "damaged": "damaged files",
    "new_failures": "quarantined or failed ids of release {what}",
    "no_good_night": "nights without a good one",
    "disk": "too little free disk space",
    "silence": "no document received",
    "verification": "verified parts that differed",
    "rule_changed": "the changed formula rules",
    "models": "the own tables",
}
NO_GOOD_NIGHT = "no_good_night"


@dataclass(frozen=True)
class Alarm:
    """Something that needs somebody. `cause` is stable while it lasts, such as `outage`; `text` is one sentence.

    The text holds counts, names of settings and commands; never a text of the partner's.
    """

    cause: str
    text: str


@dataclass(frozen=True)
class Standing:
    """An alarm: since when, which channels know whether it is over, and when messages were sent in the last week."""

    cause: str
    text: str
    since: dt.datetime
    told: tuple[str, ...]
    is_over: bool = False
    sent: tuple[dt.datetime, ...] = ()


def standing(data_dir: Path) -> list[Standing]:
    """Return the alarms that stand, oldest first."""
    return sorted((a for a in _read(_file(data_dir)).values() if not a.is_over), key=lambda a: (a.since, a.cause))


def update_alarms(
    data_dir: Path,
    raised: Iterable[Alarm],
    channels: Mapping[str, Channel],
    *,
    looked_at: AbstractSet[str],
    now: dt.datetime | None = None,
) -> Sequence[str]:
    """Record which alarms stand now and tell each channel what it does not know yet; return failures to send.

    `looked_at` are the causes (or their part before a colon) that were examined: what stands of them and was not
    raised is over. Causes that nobody looked at stay as they are. Raise nothing because of a channel.
    """
    now = now or utc_now()
    file = _file(data_dir)
    known = _read(file)
    current = {alarm.cause: alarm for alarm in raised}
    for cause, alarm in current.items():
        before = known.get(cause) or Standing(cause, "", now, tuple(channels), is_over=True)
        if before.is_over:
            known[cause] = _flipped(before, channels, text=alarm.text, since=now)
        else:  # told once; the page and `status` have today's text
            known[cause] = replace(before, text=alarm.text)
    for cause, old in list(known.items()):
        if cause not in current and not old.is_over and not looked_at.isdisjoint((cause, cause.partition(":")[0])):
            known[cause] = _flipped(old, channels)
    failures = []
    for cause, entry in sorted(known.items(), key=lambda item: (item[1].since, item[0])):
        told = set(entry.told)
        sent = tuple(at for at in entry.sent if now - at < _WEEK)
        for name, send in sorted(channels.items()) if len(sent) < _MOST else ():
            if name in told:
                continue
            try:
                send(_message(entry) + _LAST * (len(sent) == _MOST - 1))
            except NotifyError as error:
                failures.append(f"An alarm could not be sent: {name}: {error}.")
            else:
                told.add(name)
        sent = sent if told == set(entry.told) else (*sent, now)
        known[cause] = replace(entry, told=tuple(sorted(told)), sent=sent)
    left = [each for each in known.values() if not each.is_over or each.sent or set(channels) - set(each.told)]
    return [*failures, *_unwritten(file, left)]


def _flipped(before: Standing, channels: Iterable[str], **changes: Any) -> Standing:
    """Return an alarm that began or ended; a channel that never heard of the last change knows the present state."""
    unaware = tuple(sorted(set(channels) - set(before.told)))
    return replace(before, told=unaware, is_over=not before.is_over, **changes)


def _unwritten(file: Path, alarms: Sequence[Standing]) -> Iterator[str]:
    """Write the state, or yield why it could not be: what was sent is sent again by the next run."""
    try:
        write_json(file, alarms)
    except OSError as error:
        yield f"Which alarms were sent could not be recorded, so the next run sends them again: {error.strerror}."


def _message(alarm: Standing) -> str:
    if not alarm.is_over:
        return alarm.text
    cause, _, what = alarm.cause.partition(":")
    over = _OVER.get(cause, cause.replace("_", " ")).format(what=what)
    return f"Over: {over}, since {alarm.since:%Y-%m-%d %H:%M} UTC."


def _file(data_dir: Path) -> Path:
    return data_dir / "notify" / "alarms.json"


def _read(file: Path) -> dict[str, Standing]:
    """Return the alarms of the file by cause; none where it cannot be read: told again rather than never."""
    return {alarm.cause: alarm for alarm in read_json(file, list[Standing]) or []}


def notice_missing_nights(settings: Settings, now: dt.datetime | None = None) -> list[str]:
    """Send an alarm if no night was good for too long, or that one was since; return what could not be sent."""
    now = now or utc_now()
    alarms = list(no_good_night(settings, now))
    if not alarms and all(alarm.cause != NO_GOOD_NIGHT for alarm in standing(settings.data_dir)):
        return []
    looked_at = {NO_GOOD_NIGHT}
    return list(update_alarms(settings.data_dir, alarms, channels_of(settings), looked_at=looked_at, now=now))


def no_good_night(settings: Settings, now: dt.datetime, *ended: Run) -> Iterator[Alarm]:
    """Yield an alarm if nights were begun, and none of them was good for [notify] max_age_hours.

    `ended` is a run whose record may not be written yet.
    """
    hours = settings.notify.max_age_hours
    nights = [run for run in [*runs(settings.data_dir), *ended] if run.kind == NIGHT]
    good = [run.ended_at for run in nights if run.verdict == "good" and run.ended_at]
    since = max(good) if good else min((run.started_at for run in nights), default=now)
    if hours and now - since > dt.timedelta(hours=hours):
        last = f"since {since:%Y-%m-%d %H:%M} UTC" if good else "yet"
        text = f"No night was good {last}; [notify] max_age_hours is {hours:g}. Is the schedule on?"
        yield Alarm(NO_GOOD_NIGHT, text)
