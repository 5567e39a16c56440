"""A disk that loses power: which files and names are on it after a recorded sequence of operations.

A file's content is safe once the file was synced, a name once its folder was. Files of SQLite and DuckDB are as they
were when they were last synced, under the names that they have: their own logs are not what is tested here.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# dropped: only what was synced is left. named: all names, and of files what was synced. torn: all but half of the
# last write.
LOSSES = ("dropped", "named", "torn")
_NUMBERS = itertools.count()
_DATABASES = (".sqlite", ".sqlite-wal", ".sqlite-journal", ".duckdb", ".duckdb.wal")


class Operation(NamedTuple):
    """A recorded operation: its letter (see shim.c), paths below the folder, place and data."""

    letter: str
    path: str
    other: str
    number: int
    data: bytes


class File:
    """A file, or a link if it has a target: its content, and the content when it was last synced."""

    def __init__(self, content: bytes = b"", *, target: str = "") -> None:
        self.content, self.synced, self.target = bytearray(content), content, target
        self.version = self.synced_version = 0
        self.no = next(_NUMBERS)

    def change(self) -> None:
        """Note that the content changed."""
        self.version += 1

    def sync(self) -> None:
        """Make the content safe."""
        if self.synced_version != self.version:
            self.synced, self.synced_version = bytes(self.content), self.version


@dataclass
class Folder:
    """A folder: its names now, and those when it was last synced."""

    names: dict[str, File | Folder] = field(default_factory=dict)
    synced: dict[str, File | Folder] = field(default_factory=dict)
    no: int = field(default_factory=lambda: next(_NUMBERS))

    def sync(self) -> None:
        """Make the names safe."""
        self.synced = dict(self.names)


class Disk:
    """The tree below one folder."""

    def __init__(self, folder: Path) -> None:
        self.top = _loaded(folder)
        self.last: tuple[File, int, bytes] | None = None  # the last write, and what it wrote over

    def apply(self, operation: Operation) -> None:  # noqa: C901 -- one case for each operation
        """Do what was recorded."""
        letter, path, other, number, data = operation
        self.last = None
        match letter:
            case "o":
                folder, name = self._parent(path)
                if name not in folder.names:
                    folder.names[name] = File()
                elif number:
                    self._truncate(self._file(path), 0)
            case "w":
                file = self._file(path)
                before = bytes(file.content)
                if len(file.content) < number:
                    file.content.extend(bytes(number - len(file.content)))
                file.content[number : number + len(data)] = data
                file.change()
                self.last = (file, number + len(data) // 2, before)
            case "t":
                self._truncate(self._file(path), number)
            case "s":
                self._node(path).sync()
            case "d":
                folder, name = self._parent(path)
                folder.names[name] = Folder()
            case "u":
                folder, name = self._parent(path)
                del folder.names[name]
            case "r" | "l":
                folder, name = self._parent(path)
                source, old = self._parent(other)
                folder.names[name] = source.names[old]
                if letter == "r":
                    del source.names[old]
            case "y":
                folder, name = self._parent(path)
                folder.names[name] = File(target=other)

    def signature(self, loss: str) -> frozenset[tuple[str, int, int]]:
        """Return what differs between states that differ."""
        found = {
            (path, node.no, self._version(node, path, loss) if isinstance(node, File) else 0)
            for path, node in self._left(self.top, loss, "")
        }
        if loss == "torn" and self.last:
            found.add(("the last write", self.last[0].no, -1))
        return frozenset(found)

    @staticmethod
    def _version(file: File, path: str, loss: str) -> int:
        return file.version if loss == "torn" and not path.endswith(_DATABASES) else file.synced_version

    def write(self, target: Path, loss: str) -> None:
        """Write what is on the disk after losing power to an empty folder."""
        for path, node in self._left(self.top, loss, ""):
            where = target / path
            if isinstance(node, Folder):
                where.mkdir(parents=True, exist_ok=True)
            elif node.target:
                where.symlink_to(node.target)
            else:
                where.write_bytes(self._content(node, path, loss))
                where.chmod(0o600)

    def _content(self, file: File, path: str, loss: str) -> bytes:
        if loss != "torn" or path.endswith(_DATABASES):
            return file.synced
        if self.last and self.last[0] is file:
            _, cut, before = self.last
            return bytes(file.content[:cut]) + before[cut:]
        return bytes(file.content)

    def _left(self, folder: Folder, loss: str, above: str) -> Iterator[tuple[str, File | Folder]]:
        if loss == "dropped":
            names = {name: node for name, node in folder.names.items() if name.endswith(_DATABASES)}
            names |= {name: node for name, node in folder.synced.items() if not name.endswith(_DATABASES)}
        else:
            names = folder.names
        for name, node in sorted(names.items()):
            yield above + name, node
            if isinstance(node, Folder):
                yield from self._left(node, loss, f"{above}{name}/")

    def _truncate(self, file: File, size: int) -> None:
        del file.content[size:]
        file.content.extend(bytes(size - len(file.content)))
        file.change()

    def _node(self, path: str) -> File | Folder:
        node: File | Folder = self.top
        for name in Path(path).parts:
            assert isinstance(node, Folder), path
            node = node.names[name]
        return node

    def _parent(self, path: str) -> tuple[Folder, str]:
        parent = self._node(str(Path(path).parent)) if "/" in path else self.top
        assert isinstance(parent, Folder), path
        return parent, Path(path).name

    def _file(self, path: str) -> File:
        node = self._node(path)
        assert isinstance(node, File), path
        return node


def _loaded(folder: Path) -> Folder:
    made = Folder()
    for path in folder.iterdir():
        if path.is_symlink():
            made.names[path.name] = File(target=str(path.readlink()))
        elif path.is_dir():
            made.names[path.name] = _loaded(path)
        else:
            made.names[path.name] = File(path.read_bytes())
    made.sync()
    return made


def recorded(file: Path) -> list[Operation]:
    """Return the operations that the shim recorded."""
    content, place, found = file.read_bytes(), 0, []
    while place < len(content):
        end = content.index(b"\n", place)
        letter, path, other, number, size = content[place:end].decode().split("\t")
        place = end + 1
        data = content[place : place + int(size)]
        place += int(size)
        found.append(Operation(letter, path, other, int(number), data))
    return found
