"""Small files of notes in a data folder: its formats, its service, applied erasures, and the service's behaviour.

`data/format.json` names a version for each area that cannot be rebuilt: newer ones are refused, older ones brought to
the present one. Warehouse and releases need none: they are rebuilt from raw whenever anything that shapes them changed.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from pipelines.inventory import FORMAT, adopt_files, is_noted, read_inventory, write_noted
from pipelines.landing.raw_folder import LandingError
from pipelines.partner.behaviour import Counted, added_up
from pipelines.settings import Settings, SettingsError

T = TypeVar("T")
# An area is migrated when it is opened. A vault of format 1 lacks the table of erased documents: a version that reads
# no more would encrypt them again, and refuses the folder; one of format 2 tells customers by every contact; in one of
# format 3 versions are not bound to their places, and rows not tallied.
FORMATS = {"raw": 1, "vault": 4, "inbox": 1, "ledger": 1, "inventory": 1}
RESTORING = ".restoring"  # a folder with this name in a data folder: a restore has not ended
_FORMATS, _SOURCE, _ERASURES, _SERVICE = "format.json", "raw/source.json", "raw/erasures.json", "raw/service"
_URL, _LOG = "base_url", "erasure_log"


def _read(path: Path, kind: type[T], error: type[Exception], advice: str) -> T:
    """Return the content of a file of notes, empty if there is none; raise the error for a damaged one."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return kind()
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise error(f"{path} is damaged: {advice}") from None


def _write(data_dir: Path, name: str, notes: object) -> None:
    write_noted(data_dir, data_dir / name, msgspec.json.encode(notes))


def guard_format(data_dir: Path) -> None:
    """Raise SettingsError if a newer version wrote an area of the folder, or if its restore was killed."""
    if (data_dir / RESTORING).exists():
        raise SettingsError(f"{data_dir} was being restored, and that did not end: give `ordermart restore` again")
    for area, version in _written(data_dir).items():
        if version > FORMATS.get(area, 0):
            raise SettingsError(
                f"{data_dir / area} has format {version}, and this version of ordermart reads up to "
                f"{FORMATS.get(area, 0)}: install the version that wrote it, or a later one"
            )


def migrate(data_dir: Path) -> list[str]:
    """Note the present formats in the folder; return a sentence if an older version wrote an area of it."""
    guard_format(data_dir)
    if (written := _written(data_dir)) == FORMATS:
        return []
    if FORMAT not in written:
        adopt_files(data_dir)
    older = [f"{area} from {was} to {FORMATS[area]}" for area, was in written.items() if was < FORMATS[area]]
    _write(data_dir, _FORMATS, FORMATS)
    return [f"The data folder was written by an older version; formats migrated: {', '.join(older)}."] if older else []


def note_formats(data_dir: Path) -> None:
    """Note the present formats in a folder to which no load was written yet."""
    if not (data_dir / "raw").exists() and not (data_dir / _FORMATS).exists():
        _write(data_dir, _FORMATS, FORMATS)


def _written(data_dir: Path) -> dict[str, int]:
    if is_noted(data_dir, _FORMATS, msgspec.json.encode(FORMATS)):
        return FORMATS  # whatever became of the file: the next run writes it again
    return _read(data_dir / _FORMATS, dict[str, int], SettingsError, "restore it from a backup, or remove it")


def guard_source(settings: Settings) -> None:
    """Note base_url in a new folder; raise SettingsError for another service's documents, or a newer version's."""
    data_dir = settings.data_dir
    guard_format(data_dir)
    here = settings.partner.base_url.rstrip("/")
    known = _origin(data_dir)
    if _URL not in known:
        if _SOURCE in read_inventory(data_dir).files:
            raise SettingsError(f"{data_dir / _SOURCE} was there and is missing or damaged: restore it from a backup")
        note_formats(data_dir)
        _write(data_dir, _SOURCE, known | {_URL: here})
    elif known[_URL] != here:
        raise SettingsError(
            f"{data_dir} holds data of {known[_URL]}, and [partner] base_url is {here}: "
            "set it back, name another [data] dir or, if the same service moved, run "
            f"`ordermart source move {known[_URL]} {here}`"
        )


def source_of(data_dir: Path) -> str:
    """Return the address that the landed data came from; "" if nothing has landed."""
    return _origin(data_dir).get(_URL, "")


def note_source(data_dir: Path, base_url: str) -> None:
    """Note another address of the same service."""
    _write(data_dir, _SOURCE, _origin(data_dir) | {_URL: base_url})


def erasure_log_place(folder: Path) -> str:
    """Return where the erasure log was when the last backup of a data folder was taken; "" before the first."""
    return _origin(folder).get(_LOG, "")


def remember_erasure_log(data_dir: Path, place: Path) -> None:
    """Note where the erasure log is; backups carry the note."""
    if erasure_log_place(data_dir) != str(place):
        _write(data_dir, _SOURCE, _origin(data_dir) | {_LOG: str(place)})


def notes_of(settings: Settings, log: Path | None) -> list[bytes]:
    """Return the note of the source by the settings, before and after the first backup."""
    here = {_URL: settings.partner.base_url.rstrip("/")}
    return [msgspec.json.encode(notes) for notes in (here, here | {_LOG: str(log)})]


def _origin(folder: Path) -> dict[str, str]:
    advice = "restore it from a backup, or remove it if the data came from [partner] base_url"
    return _read(folder / _SOURCE, dict[str, str], SettingsError, advice)


def applied_erasures(data_dir: Path) -> list[str]:
    """Return the hashes of the ledger entries whose erasures were applied to the raw files, in order."""
    return _read(data_dir / _ERASURES, list[str], LandingError, "remove it, and every erasure is applied again")


def note_erasure(data_dir: Path, entry_sha256: str) -> None:
    """Note that an erasure was applied to the vault and to all raw files."""
    _write(data_dir, _ERASURES, [*applied_erasures(data_dir), entry_sha256])


def erasures_state(data_dir: Path) -> str:
    """Return the hash of the last erasure that was applied; "" before the first: a build compares it with its own."""
    return next(reversed(applied_erasures(data_dir)), "")


def keep_behaviour(data_dir: Path, counted: Iterable[Counted]) -> None:
    """Add counts of the service's behaviour to the file of the month, in UTC, in which each was last met.

    It is named after the month's first day: older versions, which keep a file a day, can read it and add to it.
    """
    by_month: defaultdict[str, list[Counted]] = defaultdict(list)
    for each in counted:
        by_month[f"{each.last_at:%Y-%m}-01"].append(each)
    for month, new in by_month.items():
        name = f"{_SERVICE}/{month}.json"
        _write(data_dir, name, added_up([*_counts(data_dir / name), *new]))


def service_log(data_dir: Path) -> list[Counted]:
    """Return what was counted in all months, added up."""
    return added_up(each for path in _months(data_dir) for each in _counts(path))


def service_log_state(data_dir: Path) -> str:
    """Return a text that differs when the log does, for the price of listing a folder."""
    found = [path.stat() for path in _months(data_dir)]
    return f"{len(found)} {sum(each.st_size for each in found)} {max((each.st_mtime_ns for each in found), default=0)}"


def _months(data_dir: Path) -> list[Path]:
    """Return the files of all months; an older version wrote one a day."""
    return sorted((data_dir / _SERVICE).glob("*.json"))


def _counts(path: Path) -> list[Counted]:
    advice = "restore it from a backup, or remove it; it only counts that month's requests"
    return _read(path, list[Counted], LandingError, advice)
