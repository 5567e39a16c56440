"""The local time in every time zone: the input `raw.zone_offsets`, out of the tzdata package.

Not DuckDB's own ICU: its rules are as old as its release (1.5.6 puts Winnipeg on winter time in November 2026).
Not the machine's zone files: they differ from one machine to the next. The package is locked with the other
dependencies; a new version of it is a new fingerprint of the warehouse.
"""

import bisect
import datetime as dt
import functools
import io
import struct
import zoneinfo
from collections.abc import Iterator
from importlib import metadata, resources
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from pipelines.resources import fingerprint, keep, read_kept

EVER = -(2**63) + 1  # microseconds: before any instant that a document can name
_RULES_UNTIL = 2070  # rules without an end are written out up to this year
_DAY = 86_400
_FIRST = -60_000_000_000
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_HEADER = struct.Struct(">4s c 15x 6l")  # RFC 8536, section 3.1


def version() -> str:
    """Return the version of the timezone data."""
    return metadata.version("tzdata")


@functools.cache
def zone_offsets() -> pa.Table:
    """Return one row per timezone and change of its clocks: timezone, from_us (since 1970), offset_us (from UTC).

    Computing them takes a second, so they are kept on disk for the version of the data and this code.
    """
    of = fingerprint(version(), pa.__version__, Path(__file__))
    if (kept := read_kept("zones", of)) is not None:
        return pa.ipc.open_file(pa.py_buffer(kept)).read_all()
    table = _computed()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    keep("zones", of, sink.getvalue().to_pybytes())
    return table


def _computed() -> pa.Table:
    root = Path(str(resources.files("tzdata")))
    rows = [
        (name, EVER if start is None else start * 1_000_000, offset * 1_000_000)
        for name in (root / "zones").read_text(encoding="utf-8").split()
        for start, offset in _offsets((root / "zoneinfo" / name).read_bytes())
    ]
    names, starts, offsets = (pa.array(column) for column in zip(*rows, strict=True))
    return pa.table({"timezone": names, "from_us": starts, "offset_us": offsets})


@functools.cache  # half of the names are other names of the same clocks
def _offsets(data: bytes) -> tuple[tuple[int | None, int], ...]:
    """Return (from second, offset) of one zone file, the first one without a beginning; equal neighbours left out."""
    clock = zoneinfo.ZoneInfo.from_file(io.BytesIO(data))
    listed, rule = _read(data)
    changes = [*listed, *_ruled(clock, listed[-1] if listed else 0)] if b"," in rule else listed
    # Before the first change any instant answers alike; a day before it is one that Python can say.
    found: list[tuple[int | None, int]] = [(None, _at(clock, changes[0] - _DAY if changes else 0))]
    for second in changes:
        offset = _at(clock, second)
        if offset != found[-1][1]:
            found.append((second, offset))
    return tuple(found)


def _read(data: bytes) -> tuple[list[int], bytes]:
    """Return the changes that the file lists in its 64-bit block, and the rule for the time after them."""
    magic, generation, *counts = _HEADER.unpack_from(data)
    if magic != b"TZif" or generation < b"2":
        raise ValueError("the tzdata package holds a file that is no TZif of version 2 or later")
    second_block = _HEADER.size + _size(*counts, width=4)
    _, _, *counts = _HEADER.unpack_from(data, second_block)
    body = second_block + _HEADER.size
    seconds = struct.unpack_from(f">{counts[3]}q", data, body)
    # Some lists begin at the beginning of the universe, which Python has no name for.
    return [each for each in seconds if each > _FIRST], data[body + _size(*counts, width=8) :]


def _size(isut: int, isstd: int, leaps: int, times: int, types: int, chars: int, *, width: int) -> int:
    return times * (width + 1) + types * 6 + chars + leaps * (width + 4) + isstd + isut


def _ruled(clock: zoneinfo.ZoneInfo, since: int) -> Iterator[int]:
    """Yield the changes after `since` that follow from a rule without an end, found between the firsts of months."""
    first = (_EPOCH + dt.timedelta(seconds=since)).year
    years = range(first, _RULES_UNTIL)
    firsts = (dt.datetime(year, month, 1, tzinfo=dt.UTC) for year in years for month in range(1, 13))
    months = [int((each - _EPOCH).total_seconds()) for each in firsts]
    known = [(since, _at(clock, since)), *((each, _at(clock, each)) for each in months if each > since)]
    for (low, before), (high, after) in pairwise(known):
        if before != after:
            yield _change(clock, low, high, before)


def _change(clock: zoneinfo.ZoneInfo, low: int, high: int, before: int) -> int:
    """Return the first second after `low`, up to `high`, at which the offset is no longer `before`."""
    return low + bisect.bisect_left(range(low, high), x=True, key=lambda second: _at(clock, second) != before)


def _at(clock: zoneinfo.ZoneInfo, second: int) -> int:
    offset = (_EPOCH + dt.timedelta(seconds=second)).astimezone(clock).utcoffset()
    return offset.days * _DAY + offset.seconds if offset is not None else 0
