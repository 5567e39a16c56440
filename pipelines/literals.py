"""Write values where they could be read as something else: in SQL as literals, in texts as one plain line."""

import codecs
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

LONGEST = 2_000  # characters of a text of the service's
# Control, format (such as right-to-left override), lone surrogate, line and paragraph separators.
UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
_MARKS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def encoding_of(text: bytes, otherwise: str = "utf-8") -> str:
    """Return the encoding that the byte order mark of a text states, with which Python leaves the mark out."""
    return next((encoding for mark, encoding in _MARKS.items() if text.startswith(mark)), otherwise)


def unmarked(text: bytes) -> bytes:
    """Return UTF-8 without the byte order marks that it may begin with; as it is if it is not what its mark states."""
    encoding = encoding_of(text, "") if text[:1] in b"\xef\xff\xfe\x00" else ""
    try:
        return text.decode(encoding).lstrip("\N{BYTE ORDER MARK}").encode() if encoding else text
    except UnicodeError:
        return text.removeprefix(codecs.BOM_UTF8)


def literal(text: str | Path) -> str:
    """Return a text, or a path, in single quotes."""
    return "'" + str(text).replace("'", "''") + "'"


def literals(texts: Iterable[str | Path]) -> str:
    """Return them with commas between, as in a list."""
    return ", ".join(map(literal, texts))


# What a spreadsheet may run as a formula, also full-width or after spaces and characters that nobody sees, for Python
# and for RE2, to which \s is ASCII. Numbers are harmless: amounts that a column holds as text stay amounts.
FORMULA = (
    r"^[\x00-\x20\x7f-\xa0\xad\x{1680}\x{180e}\x{2000}-\x{200f}\x{2028}-\x{202f}\x{205f}-\x{206f}\x{3000}\x{feff}]*"
    r"[=+@\x{2212}\x{fe62}\x{fe63}\x{fe66}\x{fe6b}\x{ff0b}\x{ff0d}\x{ff1d}\x{ff20}-]|^[\t\r\n]"
)
NUMBER = r"^[+-]?[0-9]+([.][0-9]+)?$"
_FORMULA = re.compile(re.sub(r"\\x\{(\w{4})\}", r"\\u\1", FORMULA))
_NUMBER = re.compile(NUMBER)


def is_formula(text: str) -> bool:
    """Tell whether a spreadsheet may run a text of a cell: such a text is written after an apostrophe, or quoted."""
    return _FORMULA.search(text) is not None and _NUMBER.fullmatch(text) is None


def cell(text: str) -> str:
    """Return a text as a cell of a file for spreadsheets: nothing in it is run."""
    return f"'{text}" if is_formula(text) else text


def cell_in_sql(text: str) -> str:
    """Return the SQL of the same, of an expression."""
    is_run = f"regexp_matches({text}, {literal(FORMULA)}) and not regexp_matches({text}, {literal(NUMBER)})"
    return f"case when {is_run} then chr(39) || {text} else {text} end"


def one_line(text: object, most: int = LONGEST) -> str:
    """Return untrusted text on one line, without control characters, cut if it is longer than any name.

    Whatever the service wrote passes it on its way to a terminal, page, message, answer or log.
    """
    own = str(text)
    own = own if len(own) <= most else own[:most] + "… (cut)"
    return replaced(own)


def replaced(text: str, layout: str = "") -> str:
    """Return a text whose control characters, but those of its layout, are replaced."""
    if text.isascii() and text.replace("\n" if layout else "", "").isprintable():
        return text
    kept = (each in layout or unicodedata.category(each) not in UNSAFE for each in text)
    return "".join(each if is_kept else "\N{REPLACEMENT CHARACTER}" for each, is_kept in zip(text, kept, strict=True))
