"""Name the files of a release that are not what its manifest says, by size and hash."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from pipelines.durable import file_hash
from pipelines.warehouse.release.manifest import MANIFEST, read_manifest

if TYPE_CHECKING:
    from pathlib import Path


def damaged_files(release: Path, *, by_times: bool = False) -> list[str]:
    """Return the paths, within a release, of files that are missing or not as in the manifest.

    A manifest that cannot be read is one of them. A file that was found right is not read again by this process
    unless it changed. With `by_times`, a file of the right size that was not written after its manifest is not read
    at all: that finds what a program did to it, and not what a disk did.
    """
    manifest = read_manifest(release)
    if manifest is None:
        return ["manifest.json"]
    wrong = []
    published = (release / MANIFEST).stat().st_mtime_ns
    for file in manifest.files:
        path = release / file.path
        try:
            stat = path.stat()
        except FileNotFoundError:
            wrong.append(file.path)
            continue
        is_trusted = by_times and stat.st_mtime_ns <= published
        if stat.st_size != file.bytes or (
            not is_trusted and _sha256(path, stat.st_size, stat.st_mtime_ns, stat.st_ino) != file.sha256
        ):
            wrong.append(file.path)
    return wrong


@functools.lru_cache(maxsize=20_000)
def _sha256(path: Path, _size: int, _mtime_ns: int, _inode: int) -> str:
    return file_hash(path)
