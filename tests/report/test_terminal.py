"""No control character reaches a terminal, whichever command writes it, and nothing else is changed."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.cli.options import PlainText
from pipelines.literals import replaced

ROOT = Path(__file__).parents[2]
HOSTILE = "EUR\x1b]0;owned\x07\x1b[2J\u202eRUE\r\x9b31m\u2028"
SAY = """
import logging, sys, typer
from pipelines import cli
from pipelines.settings import SettingsError

@cli.app.command()
def shout(how: str):
    hostile = sys.stdin.read()
    if how == "said":
        typer.echo(hostile)
        typer.echo(hostile, err=True)
        logging.warning(hostile)
    raise (SettingsError if how == "expected" else RuntimeError)(hostile)

cli.main()
"""


@pytest.mark.parametrize("text", ["", "a\tb\nc", "Zoë, 東京 · 40,080 JPY…", "nbsp\xa0too"])
def test_text_is_left_alone(text: str) -> None:
    """Lines, tabs, accents, wide characters and blanks are written as they are."""
    assert replaced(text, "\n\t") == text


@pytest.mark.parametrize(
    "sign", ["\x1b", "\r", "\x07", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\u2028", "\ud800"]
)
def test_control_characters_are_replaced(sign: str) -> None:
    """Each is one replacement character, so that nobody takes the text for clean."""
    assert replaced(f"a{sign}b\n", "\n\t") == "a\ufffdb\n"


def test_our_own_progress_reaches_the_terminal() -> None:
    """What lies beneath can be written to, and the stream describes itself as the terminal does."""
    terminal = io.StringIO()
    stream = PlainText(terminal)
    assert stream.write("\x1b[K") == 3
    stream.terminal.write("\x1b[K")
    assert terminal.getvalue() == "\ufffd[K\x1b[K"
    assert (stream.isatty(), stream.writable()) == (False, True)


@pytest.mark.slow
@pytest.mark.parametrize(("how", "code"), [("said", 1), ("expected", 2)])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii:backslashreplace"])
def test_a_command_writes_plain_text(how: str, code: int, encoding: str) -> None:
    """Output, log, expected error and traceback of a process hold no control character, whatever the encoding."""
    done = subprocess.run(
        [sys.executable, "-c", SAY, "shout", how],
        input=HOSTILE.encode(), capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
    )  # fmt: skip
    written = (done.stdout + done.stderr).decode("utf-8", "replace")
    assert done.returncode == code, written
    assert "owned" in written
    assert not {sign for sign in written if sign in HOSTILE and sign not in "EURowned]0;[2J31m"}
