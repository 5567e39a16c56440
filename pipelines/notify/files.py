"""Write a small file of JSON whole or not at all."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def write_json(file: Path, content: Any) -> None:
    """Write the file under another name, sync it, and rename it."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = file.with_suffix(".tmp")
    with draft.open("w", encoding="utf-8") as out:
        json.dump(content, out, indent=1)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(file)
