"""Find the files that ship beside the code: `sql/`, `ordermart.toml` and `workspace.yaml`.

A checkout, also when installed with `pip install -e`, has them at its top level. A wheel has copies inside the package
(see `setup.py`).
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
_COPIES = PACKAGE / "_resources"
# The top folder of the checkout that the code runs from; None when it was installed from a wheel.
CHECKOUT = None if _COPIES.is_dir() else PACKAGE.parent


def resource(name: str) -> Path:
    """Return the path of a shipped file or folder, such as "sql"."""
    return (CHECKOUT or _COPIES) / name
