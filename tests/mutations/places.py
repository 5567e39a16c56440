"""Find the places of a file that can be changed: one comparison, join, condition or column each.

Comments, docstrings, imports and prose in strings are left alone; text that is no longer Python or SQL is no mutant.
"""

from __future__ import annotations

import io
import re
import tokenize
from typing import TYPE_CHECKING, NamedTuple

import duckdb

if TYPE_CHECKING:
    from pathlib import Path

# Pattern and replacement; each match is a mutant.
PYTHON = [
    (r"(?<![<>=!-])<(?![<=])", "<="),
    (r"<=", "<"),
    (r"(?<![<>=-])>(?![>=])", ">="),
    (r">=", ">"),
    (r"==", "!="),
    (r"!=", "=="),
    (r"\band\b", "or"),
    (r"\bor\b", "and"),
    (r"\bnot (?!in)", ""),
    (r"\bnot in\b", "in"),
    (r"\bmin\(", "max("),
    (r"\bmax\(", "min("),
    (r"\+ 1\b", "+ 2"),
    (r"- 1\b", "- 0"),
    (r"\bTrue\b", "False"),
    (r"\bFalse\b", "True"),
    (r"\bcontinue\b", "break"),
    (r"\bbreak\b", "continue"),
    (r"\+=", "="),
]
_CONDITION = r"(?:[^\n()]|\([^\n()]*\))+?(?= (?:and|or|then|as|over)\b|[),]|\n|$)"
SQL = [
    (r"(?<![<>=])<(?![<=>])", "<="),
    (r"<=", "<"),
    (r"(?<![<>=-])>(?![>=])", ">="),
    (r">=", ">"),
    (r"<>", "="),
    (rf"\s+and {_CONDITION}", ""),  # a condition less
    (rf"\s+or {_CONDITION}", ""),
    (r"\nwhere [^\n]+(?=\n(?:\)|group|$))", ""),
    (r"\bleft join\b", "inner join"),
    (r"\binner join\b", "left join"),
    (r"\banti join\b", "semi join"),
    (r"\bunion all\b", "union"),
    (r"\bis distinct from\b", "<>"),
    (r"\bis not distinct from\b", "="),
    (r"\bmin\(", "max("),
    (r"\bmax\(", "min("),
    (r"\bsum\(", "max("),
    (r"\bis null\b", "is not null"),
    (r"\bis not null\b", "is null"),
    (r" desc\b", ""),
    (r"\bdistinct (?!from)", ""),
    (r"\btip\b", "discount"),  # another column of the same type
    (r"\bsubtotal_price\b", "total_price"),
    (r"\bfirst_seen_at\b", "last_seen_at"),
    (r"\bbusiness_date\b(?= (?:as|is))", "null"),
]
# What only guards against a mistake in the code itself, or against the collector's time: nothing can notice it gone.
_GUARDS = re.compile(r"(?:frozen|strict|gc|ignore_errors)=$")
_IS_SQL = re.compile(r"\b(?:select|join|group by|is not null|is null|distinct|case when)\b|<>|::|\bwhere\b.*[=<>]")
COMMENT = {
    ".py": re.compile(r'"""[\s\S]*?"""|#[^\n]*|^(?:from|import) [^\n]*', re.MULTILINE),
    ".sql": re.compile(r"--[^\n]*"),
}


class Mutant(NamedTuple):
    """One changed place of a file; `is_guard` where it changes no result."""

    file: str
    line: int
    old: str
    new: str
    text: str
    is_guard: bool


def mutants(path: Path, root: Path) -> list[Mutant]:
    """Return every mutant of a file; comments, docstrings and imports are left alone."""
    text = path.read_text(encoding="utf-8")
    quiet = [match.span() for match in COMMENT[path.suffix].finditer(text)]
    quiet += _prose(text) if path.suffix == ".py" else []
    found = []
    for pattern, new in PYTHON if path.suffix == ".py" else SQL:
        for match in re.finditer(pattern, text):
            if any(start <= match.start() < end for start, end in quiet):
                continue
            line = text.count("\n", 0, match.start() + len(match[0]) - len(match[0].lstrip())) + 1
            changed = text[: match.start()] + new + text[match.end() :]
            if _is_code(changed, path.suffix):
                is_guard = bool(_GUARDS.search(text[: match.start()].rpartition("\n")[2]))
                found.append(Mutant(str(path.relative_to(root)), line, match[0].strip(), new, changed, is_guard))
    return found


def _prose(text: str) -> list[tuple[int, int]]:
    """Return where the strings of Python are that hold no SQL."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return [
        (starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1])
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.STRING and not _IS_SQL.search(token.string)
    ]


def _is_code(text: str, suffix: str) -> bool:
    """Return whether a text can be parsed: what cannot is killed by any test, and would flatter the score."""
    try:
        if suffix == ".py":
            compile(text, "mutant", "exec")
        else:
            selects = text if re.search(r"^\s*(?:select|with|from)\b", text, re.MULTILINE) else f"select {text}"
            duckdb.extract_statements(selects)
    except (SyntaxError, duckdb.Error):
        return False
    return True
