"""Take the commands out of the documents, as a reader would copy them."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PROGRAMS = r"(?:python3? |\.venv/bin/python |ordermart(?= )|make )"
_LEFT_OUT = {"COMMANDS.md", "QUESTIONS.md", "DICTIONARY.md", "CHANGELOG.md"}  # generated, or history


class Command(NamedTuple):
    """A command of a document: its words without comments and redirections; of a block, or named in a sentence."""

    document: str
    text: str
    is_block: bool

    @property
    def words(self) -> list[str]:
        """Return the words as a shell would give them to the program."""
        return shlex.split(re.sub(r"[\[\]]| < \S+", "", self.text), comments=True)


def documents(project: Path) -> list[Path]:
    """Return the documents that people wrote and follow."""
    found = [*project.glob("*.md"), *project.glob("docs/*.md"), *project.glob("data/*.md")]
    return sorted(path for path in found if path.name not in _LEFT_OUT)


def commands(document: Path) -> Iterator[Command]:
    """Yield the commands of a document: lines of its blocks, then those that its sentences name."""
    text = document.read_text(encoding="utf-8")
    blocks = re.findall(r"^ *```(\w*)\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    for language, block in blocks:
        for line in block.splitlines() if language in {"", "sh", "console"} else ():
            if re.match(_PROGRAMS, line.strip()):
                command = " ".join(shlex.split(line.strip(), comments=True, posix=False))
                yield Command(document.name, command, is_block=True)
    prose = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)
    for span in re.findall(r"`([^`]+)`", prose):
        if re.match(_PROGRAMS, flat := " ".join(span.split())):
            yield Command(document.name, flat, is_block=False)
