"""Comments and docstrings name their subject: phrases without one are counted, and may only become fewer."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADLESS = {name: re.compile(rf"\b{name}\b", re.IGNORECASE) for name in ("what is", "what the", "of what", "whoever")}
MOST = 0.6  # of 1,000 words; this number may only fall
# Generated from the heads of tables and the help of commands; and the list of changes, which quotes.
NOT_COUNTED = {"DICTIONARY.md", "QUESTIONS.md", "COMMANDS.md", "CHANGELOG.md"}
DIRECTIONS = re.compile(r"\bknows? nothing\b", re.IGNORECASE)  # the direction of imports stands in docs/ARCHITECTURE.md


def prose_of(file: Path) -> str:
    """Return the comments and docstrings of a Python or SQL file, or the prose of a document, on one line."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        return re.sub(r"\s+", " ", re.sub(r"```.*?```", " ", text, flags=re.DOTALL))
    if file.suffix == ".sql":
        return " ".join(re.findall(r"--(.*)", text))
    return " ".join(_prose(text)).replace("\n", " ")


def _prose(text: str) -> Iterator[str]:
    previous = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_docstring = token.type == tokenize.STRING and previous in {tokenize.NEWLINE, tokenize.INDENT}
        if token.type == tokenize.COMMENT or is_docstring:
            yield re.sub(r"\s+", " ", token.string)
        if token.type not in {tokenize.COMMENT, tokenize.NL}:
            previous = token.type


@pytest.fixture(scope="module")
def prose(project: Path) -> dict[str, str]:
    """Return the prose of each file of pipelines/, sql/, tests/ and docs/, but of this one."""
    files = [project / "README.md", project / "CONTRIBUTING.md", *(project / "docs").glob("*.md")]
    files += [file for folder in ("pipelines", "tests", "docs") for file in (project / folder).rglob("*.py")]
    files += (project / "sql").rglob("*.sql")
    counted = (file for file in files if file.name not in NOT_COUNTED and file != Path(__file__))
    return {file.relative_to(project).as_posix(): prose_of(file) for file in counted}


@pytest.mark.slow
def test_phrases_without_a_subject_become_fewer(prose: dict[str, str]) -> None:
    """Of 1,000 words of comments and docstrings so many are such phrases at most."""
    words = sum(len(text.split()) for text in prose.values())
    found = {name: sum(len(each.findall(text)) for text in prose.values()) for name, each in HEADLESS.items()}
    assert 1000 * sum(found.values()) / words <= MOST, found


@pytest.mark.slow
def test_the_direction_of_imports_is_stated_once(prose: dict[str, str]) -> None:
    """No file of code repeats the direction of imports, which a test of directions checks for all."""
    assert [name for name, text in prose.items() if not name.endswith(".md") and DIRECTIONS.search(text)] == []


def test_prose_is_what_people_read(tmp_path: Path) -> None:
    """A docstring and a comment count, also over two lines; a text and a name do not."""
    (tmp_path / "a.py").write_text('"""Of\n    what."""\nof_what = "whoever"  # what is\n', encoding="utf-8")
    (tmp_path / "b.sql").write_text("-- Knows nothing\nselect 'whoever'\n", encoding="utf-8")
    (tmp_path / "c.md").write_text("Of\n\n```\nwhat\n```\nwhat", encoding="utf-8")
    assert prose_of(tmp_path / "c.md") == "Of what"
    assert [prose_of(tmp_path / name) for name in ("a.py", "b.sql")] == ['"""Of what.""" # what is', " Knows nothing"]
