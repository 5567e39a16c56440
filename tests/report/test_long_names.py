"""A name may be as long as a document: what shows it takes no longer than it must, and one line."""

from __future__ import annotations

import pytest

from pipelines.report.text import COLUMNS, fitted, width, wrapped

MIB = 1 << 20


@pytest.mark.parametrize("sign", ["n", "東", "e\u0301", "\u0301"], ids=["narrow", "wide", "with accent", "accents"])
def test_a_long_name_is_fitted(sign: str) -> None:
    """Of five million signs one line is shown, whatever their width; quadratic, this would take days."""
    shown = fitted(sign * (5 * MIB), 20)
    assert (width(shown), len(shown) <= 200) == (20, True)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "     "),
        ("abc", "abc  "),
        ("abcde", "abcde"),
        ("abcdef", "abcd…"),
        ("東京都", "東京…"),
        ("a東京都", "a東… "),
    ],
)
def test_names_are_padded_or_cut(text: str, shown: str) -> None:
    """A name fills its columns, or is cut and marked; a wide character is never cut in half."""
    assert fitted(text, 5) == shown


def test_a_long_word_is_wrapped() -> None:
    """A paragraph of one word of five million signs has some lines, and says that it was cut."""
    lines = list(wrapped("n" * (5 * MIB)))
    assert len(lines) < 200
    assert max(map(len, lines)) <= COLUMNS
    assert "(cut)" in "".join(lines[-2:])
