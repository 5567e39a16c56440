"""Find the files that ship beside the code, and keep on disk what takes long to compute from them.

`sql/`, `docs/models/`, `ordermart.toml` and `workspace.yaml`: a checkout, also when installed with `pip install -e`,
has them at its top level. A wheel has copies inside the package (see `setup.py`).

What follows from the code and its dependencies alone is kept below the user's cache folder, one file per name and
fingerprint, with a hash of its content in front. Whatever is missing, damaged or cannot be written is computed again.
"""

import contextlib
import hashlib
import os
import time
from pathlib import Path

from pipelines.durable import make_folder, write_whole

PACKAGE = Path(__file__).resolve().parent
_COPIES = PACKAGE / "_resources"
# The top folder of the checkout that the code runs from; None when it was installed from a wheel.
CHECKOUT = None if _COPIES.is_dir() else PACKAGE.parent
_HASH = 64  # characters in front of the content
_MONTH = 30 * 86_400  # seconds


def resource(name: str) -> Path:
    """Return the path of a shipped file or folder, such as "sql"."""
    return (CHECKOUT or _COPIES) / name


def fingerprint(*parts: str | Path) -> str:
    """Return a hash of texts, and of the content of files."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.read_bytes() if isinstance(part, Path) else part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def read_kept(name: str, of: str) -> bytes | None:
    """Return what was kept under a name and fingerprint; None if there is nothing, or it is damaged."""
    try:
        content = _file(name, of).read_bytes()
    except (OSError, RuntimeError):
        return None
    kept = content[_HASH:]
    return kept if hashlib.sha256(kept).hexdigest().encode() == content[:_HASH] else None


def keep(name: str, of: str, content: bytes) -> None:
    """Keep content under a name and fingerprint, remove what others left a month ago, and raise nothing."""
    with contextlib.suppress(OSError, RuntimeError):
        file = _file(name, of)
        make_folder(file.parent)
        write_whole(file, hashlib.sha256(content).hexdigest().encode() + content, 0o600)
        for other in file.parent.glob(f"{name}-*"):
            if time.time() - other.stat().st_mtime > _MONTH:
                other.unlink(missing_ok=True)


def _file(name: str, of: str) -> Path:
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"  # RuntimeError without a home
    return Path(folder) / "ordermart" / f"{name}-{of[:16]}"
