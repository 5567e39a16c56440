"""Read the CSV files of [reference]: the user's own stores, products and platforms."""

from __future__ import annotations

import csv
import datetime as dt
import hashlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.settings import SettingsError
from pipelines.warehouse.catalogue.meta_tables import FILES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pipelines.settings import Settings
    from pipelines.warehouse.catalogue.meta_tables import MetaTable


_MAX_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Reference:
    """The rows of each configured file by its table, and a hash of all files."""

    rows: Mapping[str, list[dict[str, Any]]]
    digest: str


def read_reference(settings: Settings, *only: str) -> Reference:
    """Read the files that [reference] names, or `only` those.

    Raise SettingsError, with line and column, for a value to correct.
    """
    digest = hashlib.sha256()
    rows = {}
    for name in only or FILES:
        table = FILES[name]
        if file := str(getattr(settings.reference, name)):
            path = settings.file.parent / file
            content = _bytes(path, f"[reference] {name}: {path}")
            digest.update(f"{name} {len(content)}\n".encode() + content)
            rows[table.name] = _rows(content, table, f"[reference] {name}: {path.name}")
    return Reference(rows, digest.hexdigest() if rows else "")


def categories(settings: Settings) -> list[tuple[int, str | None]]:
    """Return product_id and category of each row of the file of [reference] products; nothing without a file."""
    rows = read_reference(settings, "products").rows.get(FILES["products"].name, [])
    return [(row["product_id"], row["category"]) for row in rows]


def _bytes(path: Path, where: str) -> bytes:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise SettingsError(f"{where} is larger than 32 MiB")
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{where} cannot be read: {error.strerror}") from None


def _rows(content: bytes, table: MetaTable, where: str) -> list[dict[str, Any]]:
    """Return the rows of a file; columns that it leaves out are null."""
    columns = {name: kind for name, kind, _ in table.columns}
    (key,) = table.key
    try:
        lines = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        head = next(lines, [])
        if key not in head or len(set(head)) < len(head) or set(head) - columns.keys():
            raise SettingsError(
                f"{where}: the first line must name {key}, and of {', '.join(columns)} each at most once"
            )
        rows: dict[Any, dict[str, Any]] = {}
        for line in filter(None, lines):
            number = lines.line_num
            if len(line) != len(head):
                raise SettingsError(f"{where}, line {number}: has {len(line)} values, the first line has {len(head)}")
            texts = dict(zip(head, line, strict=True))
            row = {
                name: _value(texts.get(name, ""), columns[name], f"{where}, line {number}, {name}") for name in columns
            }
            if row[key] is None or row[key] in rows:
                problem = "is empty" if row[key] is None else "is listed twice"
                raise SettingsError(f"{where}, line {number}: {key} {problem}")
            rows[row[key]] = row
    except (UnicodeDecodeError, csv.Error) as error:
        raise SettingsError(f"{where} is not a CSV file in UTF-8: {type(error).__name__}") from None
    return list(rows.values())


def _value(text: str, kind: str, where: str) -> Any:
    text = text.strip()
    if not text:
        return None
    try:
        return _READ[kind](text)
    except (ValueError, KeyError):
        raise SettingsError(f"{where}: is not {_WORDS[kind]}") from None


def _integer(text: str) -> int:
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError
    return number


_READ: dict[str, Callable[[str], Any]] = {
    "VARCHAR": str,
    "BIGINT": _integer,
    "DATE": dt.date.fromisoformat,
    "BOOLEAN": lambda text: {"true": True, "false": False}[text.lower()],
}
_WORDS = {"BIGINT": "a whole number", "DATE": "a date such as 2026-10-31", "BOOLEAN": "true or false"}
