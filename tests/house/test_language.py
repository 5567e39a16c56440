"""The English of code, SQL and documents uses the field's terms, not the phrases they replaced.

The list holds the worst of those phrases, one regular expression each. It cannot tell good prose from bad; it keeps
what was replaced from coming back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# Refused phrase → the words to write instead. Spaces match line breaks too, with or without a comment sign.
PHRASES = {
    r"\banew\b": "again, or rebuild, recompute",
    r"\b(?:un)?seal(?:s|ed|ing)?\b": "close (a day), encrypt (data)",
    r"\b(?:stands?|is|was|are|were) in the way\b|^in the way\b": "is a blocker, blocks",
    r"\bobstacles?\b": "blocker",
    r"\bborne out\b|\bbears? (?:it |them |one )?out\b": "supported by",
    r"\buntold\b": "indistinguishable",
    r"\bcannot be told\b": "indeterminate",
    r"\bmenus of then\b": "the menus observed at the time",
    r"\bis no (?:kind|day|size|range|line|port|timezone|rule|JSON|address|month|file|git checkout)\b": "is not a",
    r"\bput right\b": "fixed, corrected",
    r"\bby (?:the|its|their) (?:stores?(?:'s?)? )?(?:own )?clocks?\b": "in the store's time zone",
    r"\b(?:the|a|this|that|each|every|any|another|other|one|our|their|its) rooms?\b": "package",
    r"\bfor machines\b": "released: no",
    r"\btid(?:y|ies|ied|ying) up\b": "maintenance",
    r"\bchores?\b": "maintenance",
    r"\bdead letters\b": "dead-letter queue",
    r"\bhands? over\b|\bhanded over\b": "supply",
    r"\bheld to (?:the|their|its|what)\b": "checked against",
    r"\b(?:last|previous) release stands\b": "the previous release stays current",
    r"\bjudge[sd]? again\b": "reprocess",
    r"\bis told (?:so|by|as)\b|\bare told\b": "is reported, or say who knows what",
}
SUFFIXES = {".py", ".sql", ".md", ".toml"}
# The changelog lists old names beside the new ones; this file lists what it refuses.
EXEMPT = {"docs/CHANGELOG.md", "tests/house/test_language.py"}
_JOINT = r"(?:[ \t]*\n[ \t]*(?:#|--|>|\*|-)?[ \t]*| +)"
PATTERNS = {phrase: re.compile(phrase.replace(" ", _JOINT), re.IGNORECASE | re.MULTILINE) for phrase in PHRASES}


def old_phrases(text: str) -> list[str]:
    """Return `line: phrase: instead` for each replaced phrase in a text, in any case and across line breaks.

    Lines that end with `# stored name` are skipped: names in files on disk do not change.
    """
    text = re.sub(r"[^\n]*# stored name(?=\n)", "", text)
    text = re.sub(r"def (test_\w+)", lambda name: name[0].replace("_", " "), text)  # names of tests are sentences, too
    found = []
    for phrase, pattern in PATTERNS.items():
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append((line, f"line {line}: {' '.join(match.group().split())!r}: write {PHRASES[phrase]}"))
    return [sentence for _, sentence in sorted(found)]


def unclean(project: Path, files: Iterable[Path]) -> dict[str, list[str]]:
    """Return the tracked files of prose and code that hold a replaced phrase, each with its places."""
    names = {file.relative_to(project).as_posix(): file for file in files if file.suffix in SUFFIXES}
    texts = {name: file.read_text("utf-8") for name, file in sorted(names.items()) if name not in EXEMPT}
    return {name: found for name, text in texts.items() if (found := old_phrases(text))}


def allowed(project: Path) -> set[str]:
    """Return the files that are not clean yet: a list that only gets shorter."""
    listed = project / "tests" / "house" / "not_yet_plain.txt"
    return set(listed.read_text("utf-8").split()) if listed.exists() else set()


@pytest.fixture(scope="module")
def places(project: Path, tracked: list[Path]) -> dict[str, list[str]]:
    """Return the files that hold a replaced phrase, each with its places."""
    return unclean(project, tracked)


@pytest.mark.slow
def test_files_use_the_terms_of_the_field(project: Path, places: dict[str, list[str]]) -> None:
    """No file holds a phrase that was replaced, except those listed in not_yet_plain.txt."""
    assert {name: found for name, found in places.items() if name not in allowed(project)} == {}


@pytest.mark.slow
def test_allow_list_only_shrinks(project: Path, places: dict[str, list[str]]) -> None:
    """A listed file that is clean, or gone, must leave the list."""
    assert sorted(allowed(project) - places.keys()) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# The tables are made anew.\n", "line 1: 'anew'"),
        ("one\n-- orders that cannot\n--   be told\n", "line 2: 'cannot -- be told'"),
        ("A sealed day.", "line 1: 'sealed'"),
        ("For\nmachines: a step", "line 1: 'For machines'"),
        ("what stands in the way", "line 1: 'stands in the way'"),
        ("over by the store's clock", "line 1: 'by the store's clock'"),
        ("'x' is no range of ids", "line 1: 'is no range'"),
        ("The room of personal data.", "line 1: 'The room'"),
        ("def test_a_sealed_day_stays() -> None:", "line 1: 'sealed'"),
    ],
)
def test_planted_phrase_is_found(text: str, found: str) -> None:
    """Replaced phrases are found in any case and across the lines of a comment."""
    assert any(sentence.replace('"', "'").startswith(found) for sentence in old_phrases(text))


@pytest.mark.parametrize(
    "text", ["a new day", "no room in the queue", "the mushroom", "sealant", "foretold", "is none", "by the clocktower"]
)
def test_ordinary_words_are_allowed(text: str) -> None:
    """Words that merely contain a refused one pass."""
    assert old_phrases(text) == []


def test_planted_file_is_found(tmp_path: Path) -> None:
    """Python, SQL, Markdown and TOML files are read; the changelog is not."""
    (tmp_path / "docs").mkdir()
    names = ["a.py", "b.sql", "c.md", "d.toml", "e.lock", "docs/CHANGELOG.md"]
    for name in names:
        (tmp_path / name).write_text("made anew", encoding="utf-8")
    assert list(unclean(tmp_path, [tmp_path / name for name in names])) == ["a.py", "b.sql", "c.md", "d.toml"]
