"""Let no control character reach a terminal: whatever a command writes is text, line by line.

Text of the partner's may hold escape sequences, which would colour, hide or retype what a person reads.
"""

from __future__ import annotations

import io
import sys
import unicodedata
from typing import TextIO

_LAYOUT = {"\n", "\t"}


class PlainText(io.TextIOBase):
    """A stream that replaces control characters; `terminal` is the one beneath, for our own progress."""

    def __init__(self, terminal: TextIO) -> None:
        self.terminal = terminal

    def write(self, text: str) -> int:
        """Write a text without control characters; return how long it was."""
        self.terminal.write(plain_lines(text))
        return len(text)

    def flush(self) -> None:
        """Write the buffer."""
        self.terminal.flush()

    def isatty(self) -> bool:
        """Return whether this is a terminal."""
        return self.terminal.isatty()

    def fileno(self) -> int:
        """Return the file that is written to."""
        return self.terminal.fileno()

    def writable(self) -> bool:
        """Return whether it can be written to."""
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Its encoding."""
        return self.terminal.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """What becomes of characters that the encoding lacks."""
        return self.terminal.errors


def plain_lines(text: str) -> str:
    """Return a text whose control characters, but line breaks and tabs, are replaced."""
    from pipelines.literals import UNSAFE

    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if sign not in _LAYOUT and unicodedata.category(sign) in UNSAFE else sign
        for sign in text
    )


def write_plain_text() -> None:
    """Let this process write plain text only: output, logs and tracebacks."""
    sys.stdout, sys.stderr = PlainText(sys.stdout), PlainText(sys.stderr)
