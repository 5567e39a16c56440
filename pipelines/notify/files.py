"""Write a small file of JSON whole or not at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pipelines.durable import make_folder, write_whole

if TYPE_CHECKING:
    from pathlib import Path


def write_json(file: Path, content: Any) -> None:
    """Write the file under another name, sync it, and rename it."""
    make_folder(file.parent, 0o700)
    write_whole(file, json.dumps(content, indent=1).encode())
