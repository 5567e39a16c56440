"""A disk that loses power: which files and names are on it after a recorded sequence of operations.

A file's content is safe once the file was synced, a name once its folder was. Files of SQLite and DuckDB are as they
were when they were last synced, under the names that they have: their own logs are not tested here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# dropped: only what was synced is left. named: all names, and of files what was synced. torn: all but half of the
# last write.
LOSSES = ("dropped", "named", "torn")
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
        self.shortened = content  # what was synced, cut where the file was cut since: its size is kept with its name
        self.is_safe = True

    def sync(self) -> bool:
        """Make the content safe; return whether it was not yet."""
        if self.is_safe:
            return False
        self.synced = self.shortened = bytes(self.content)
        self.is_safe = True
        return True


@dataclass(eq=False)
class Folder:
    """A folder: its names now, and those when it was last synced."""

    names: dict[str, File | Folder] = field(default_factory=dict)
    synced: dict[str, File | Folder] = field(default_factory=dict)

    def sync(self) -> bool:
        """Make the names safe; return whether they were not yet."""
        if self.synced == self.names:
            return False
        self.synced = dict(self.names)
        return True


class Disk:
    """The tree below one folder."""

    def __init__(self, folder: Path) -> None:
        self.top = _loaded(folder)
        self.last: tuple[File, int, bytes] | None = None  # the last write, and what it wrote over

    def apply(self, operation: Operation) -> tuple[str, ...]:  # noqa: C901 -- one case for each operation
        """Do what was recorded; return the losses of power that leave another disk than before."""
        letter, path, other, number, data = operation
        is_database = path.endswith(_DATABASES)
        changed: tuple[str, ...] = LOSSES if is_database else ("named", "torn")
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
                file.is_safe = False
                self.last = (file, number + len(data) // 2, before)
                changed = () if is_database else ("torn",)
            case "t":
                self._truncate(self._file(path), number)
            case "s":
                changed = LOSSES if self._node(path).sync() else ("torn",)
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
        return changed

    def write(self, target: Path, loss: str) -> None:
        """Write the disk's content after losing power to an empty folder."""
        for path, node in self._left(self.top, loss, ""):
            where = target / path
            if isinstance(node, Folder):
                where.mkdir(parents=True, exist_ok=True)
            elif node.target:
                where.symlink_to(node.target)
            else:
                where.write_bytes(self._content(node, path, loss))
                where.chmod(0o600)

    def left(self, loss: str) -> Iterator[tuple[str, bytes]]:
        """Yield each path that is left after losing power, with its content: of a link its target, of a folder none."""
        for path, node in self._left(self.top, loss, ""):
            if isinstance(node, Folder):
                yield f"{path}/", b""
            else:
                yield path, node.target.encode() if node.target else self._content(node, path, loss)

    def _content(self, file: File, path: str, loss: str) -> bytes:
        if loss == "dropped" or path.endswith(_DATABASES):
            return file.synced
        if loss == "named":
            return file.shortened
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
        file.shortened = file.shortened[:size]
        file.content.extend(bytes(size - len(file.content)))
        file.is_safe = False

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
