"""Keep state in small files of JSON: each is written whole or not at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pipelines.durable import make_folder, write_whole
from pipelines.inventory import InventoryError, write_noted

if TYPE_CHECKING:
    from pathlib import Path

Kept = TypeVar("Kept")


def write_json(file: Path, content: Any) -> None:
    """Write the file under another name, sync it, and rename it."""
    encoded = json.dumps(msgspec.to_builtins(content), indent=1).encode()
    try:
        write_noted(file.parent.parent, file, encoded)
    except InventoryError:  # a night says that the inventory is lost, and must be able to
        make_folder(file.parent, 0o700)
        write_whole(file, encoded)


def read_json(file: Path, kind: type[Kept]) -> Kept | None:
    """Return the file's content; None where there is none, or it is not of this type."""
    try:
        return msgspec.convert(json.loads(file.read_bytes()), kind)  # a text may hold half a pair of surrogates
    except (OSError, ValueError, msgspec.ValidationError):
        return None
