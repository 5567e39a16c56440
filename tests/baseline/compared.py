"""Compare facts with those that were saved, and say in words what differs.

What was renamed or changed on purpose since is declared in meant.txt; a declaration that nothing needs is a difference,
too, so that none stays by mistake.
"""

from __future__ import annotations

import difflib
import fnmatch
from typing import TYPE_CHECKING, NamedTuple

from tests.baseline.facts import HERE, Facts, declared, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MEANT = HERE / "meant.txt"
SAVED = HERE / "saved"
HASHED = ("comment", "values")


class Difference(NamedTuple):
    """One aspect of one item that is not as it was saved."""

    part: str
    item: str
    aspect: str
    said: str

    def __str__(self) -> str:
        """Say it in a line."""
        return f"{self.part}: {self.item}: {self.said}"


class Meant(NamedTuple):
    """What was declared: items that have another name now, and differences by pattern (part, item, aspect)."""

    renamed: dict[str, str]
    changed: list[tuple[str, str, str]]


def meant(lines: Sequence[str] | None = None) -> Meant:
    """Return what meant.txt declares; raise ValueError for a line of another form."""
    renamed, changed = {}, []
    for line in declared(MEANT) if lines is None else lines:
        match [word.strip() for word in line.split("|")]:
            case ["renamed", old, new, reason] if reason:
                renamed[old] = new
            case ["changed", part, item, aspect, reason] if reason:
                changed.append((part, item, aspect))
            case _:
                raise ValueError(f"{MEANT.name}: neither a rename nor a change with its reason: {line}")
    return Meant(renamed, changed)


def saved(part: str) -> Facts:
    """Return the facts that were saved of a part."""
    return read((SAVED / f"{part}.txt").read_text(encoding="utf-8"))


def renamed(facts: Facts, names: dict[str, str]) -> Facts:
    """Return saved facts by the names of today: of tables, their columns and keys, commands and settings."""
    found = {}
    for item, aspects in facts.items():
        columns = (_name(f"{item}.{column}", names) for column in aspects.get("key", "none").split(","))
        key = {"key": ",".join(column.rpartition(".")[2] for column in columns)} if "key" in aspects else {}
        found[_name(item, names)] = aspects | key
    return found


def _name(item: str, names: dict[str, str]) -> str:
    if item in names:
        return names[item]
    for old, new in names.items():
        if item.startswith((f"{old}.", f"{old} ")):
            return new + item.removeprefix(old)
    return item


def differences(part: str, before: Facts, found: Facts) -> Iterator[Difference]:
    """Give what differs between facts of a part."""
    for item in [*before, *(item for item in found if item not in before)]:
        if item not in found:
            if item.rpartition(".")[0] not in before or item.rpartition(".")[0] in found:  # a table is named once
                yield Difference(part, item, "gone", "is gone")
        elif item not in before:
            if item.rpartition(".")[0] not in found or item.rpartition(".")[0] in before:
                yield Difference(part, item, "new", "is new")
        else:
            for aspect in {**before[item], **found[item]}:
                old, new = before[item].get(aspect), found[item].get(aspect)
                if old != new:
                    yield Difference(part, item, aspect, _said(aspect, old, new))


def _said(aspect: str, old: str | None, new: str | None) -> str:
    if old is None or new is None:
        return f"{aspect} is {'gone' if new is None else 'new'}"
    if aspect in HASHED:
        return f"{aspect} differ{'s' if aspect == 'comment' else ''}"
    if "\n" in old + new:
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
        return "\n    ".join(
            [f"{aspect} differs", *(line for line in lines if not line.startswith(("---", "+++", "@@")))]
        )
    return f"{aspect} is {new}, was {old}"


def compared(parts: dict[str, Facts], declarations: Meant | None = None) -> list[str]:
    """Say what differs from the saved facts of these parts, but for declared differences, and needless declarations."""
    declarations = declarations or meant()
    unused = list(declarations.changed)
    said = []
    items = set()
    for part, found in parts.items():
        before = saved(part)
        items |= before.keys()
        for each in differences(part, renamed(before, declarations.renamed), found):
            patterns = [
                pattern
                for pattern in declarations.changed
                if all(map(fnmatch.fnmatchcase, (each.part, each.item, each.aspect), pattern))
            ]
            unused = [pattern for pattern in unused if pattern not in patterns]
            if not patterns:
                said.append(str(each))
    if parts.keys() == {file.stem for file in SAVED.glob("*.txt")}:
        said += [f"{MEANT.name}: nothing differs any more as declared: {' | '.join(pattern)}" for pattern in unused]
        said += [
            f"{MEANT.name}: no saved item has this name: {old}" for old in declarations.renamed if old not in items
        ]
    return said
