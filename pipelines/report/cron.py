"""Say when a cron expression is next due, without importing Dagster, which takes longer than all else of a status.

Five fields (minute, hour, day of month, month, day of week) of *, numbers, names, ranges, lists and steps, or @daily
and its like. As in cron, a restriction of both kinds of day means either.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo

_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_NAMES = {
    3: {name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)},
    4: {name: number for number, name in enumerate("sun mon tue wed thu fri sat".split())},
}
_PART = re.compile(r"(\*|(\w+)(?:-(\w+))?)(?:/(\d+))?")
_DAYS = 366 * 8  # to the next 29 February, across a century that has none


def next_tick(cron: str, timezone: str, now: dt.datetime) -> dt.datetime | None:
    """Return the first time after `now` at which the expression is due, in UTC; None if it cannot be read.

    As with Dagster, a local time that clocks skip is due when they have skipped it, and one that comes twice the second
    time.
    """
    try:
        zone = zoneinfo.ZoneInfo(timezone)
        fields = _NICKNAMES.get(cron.strip().lower(), cron).lower().split()
        minutes, hours, days, months, weekdays = (
            _values(field, place) for place, field in zip(range(5), fields, strict=True)
        )
    except (ValueError, KeyError, OSError):
        return None
    is_either = not fields[2].startswith("*") and not fields[4].startswith("*")
    day = now.astimezone(zone).date() - dt.timedelta(days=1)
    for _ in range(_DAYS):
        by_day, by_weekday = day.day in days, day.isoweekday() % 7 in {each % 7 for each in weekdays}
        if day.month in months and (by_day or by_weekday if is_either else by_day and by_weekday):
            for hour in sorted(hours):
                for minute in sorted(minutes):
                    due = _instant(dt.datetime.combine(day, dt.time(hour, minute), zone))
                    if due > now:
                        return due
        day += dt.timedelta(days=1)
    return None


def _instant(local: dt.datetime) -> dt.datetime:
    """Return when a local time is, in UTC."""
    second = local.replace(fold=1).astimezone(dt.UTC)
    if second.astimezone(local.tzinfo).replace(tzinfo=None) == local.replace(tzinfo=None):
        return second
    return local.astimezone(dt.UTC).astimezone(local.tzinfo).replace(minute=0).astimezone(dt.UTC)


def _values(field: str, place: int) -> set[int]:
    """Return the values that a field allows; raise ValueError if it is not one."""
    low, high = _LIMITS[place]
    found: set[int] = set()
    for part in field.split(","):
        match = _PART.fullmatch(part)
        if not match:
            raise ValueError(field)
        first, last = low, high
        if match[2]:
            first = _number(match[2], place)
            last = _number(match[3], place) if match[3] else (high if match[4] else first)
        step = int(match[4] or 1)
        if not (low <= first <= last <= high and step):
            raise ValueError(field)
        found.update(range(first, last + 1, step))
    return found


def _number(text: str, place: int) -> int:
    names = _NAMES.get(place, {})
    return names[text] if text in names else int(text)
