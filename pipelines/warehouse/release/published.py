"""Find two published releases by name, and compare them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.warehouse.release.diff import Changes, Side, are_comparable, compare
from pipelines.warehouse.release.manifest import read_manifest
from pipelines.warehouse.rows.session import plain_session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipelines.settings import Settings


class NoSuchReleaseError(Exception):
    """A release to be compared does not exist; the message says which there are."""


@dataclass(frozen=True)
class Diff:
    """Two releases, by id, and what differs."""

    before: str
    after: str
    changes: Changes


def diff(settings: Settings, before: str = "", after: str = "") -> Diff:
    """Compare two releases of the data folder, by default the last one and the one before it.

    Raise NoSuchReleaseError for a name that is not a release, where there are not two, or where their files are
    partitioned in different ways.
    """
    releases = settings.data_dir / "published" / "releases"
    names = sorted(each.name for each in releases.iterdir() if each.name[0] != ".") if releases.exists() else []
    last = _named(names, after) if after else names[-1:]
    earlier = [name for name in names if not last or name < last[0]]
    first = _named(names, before) if before else earlier[-1:]
    if not first or not last:
        raise NoSuchReleaseError(
            f"there are not two releases to compare in {releases}, only {', '.join(names) or 'none'}"
        )
    sides = [_side(releases / name) for name in (first[0], last[0])]
    if not are_comparable(*sides):
        raise NoSuchReleaseError(
            f"{first[0]} and {last[0]} cannot be compared: their files are partitioned differently"
        )
    with plain_session(settings) as con:
        return Diff(first[0], last[0], compare(con, *sides))


def _named(names: Sequence[str], wanted: str) -> list[str]:
    found = [name for name in names if name.startswith(wanted)]
    if len(found) != 1:
        problem = f"names {len(found)} releases" if found else "is not a release"
        raise NoSuchReleaseError(f"{wanted!r} {problem}; there are: {', '.join(names) or 'none'}")
    return found


def _side(release: Path) -> Side:
    manifest = read_manifest(release)
    if manifest is None:
        raise NoSuchReleaseError(f"{release} has no manifest that can be read")
    return Side(release, manifest.files, manifest.fingerprint)
