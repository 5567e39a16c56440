"""Read what every contract says, kept on disk from the contracts: importing those takes more than a second.

Knows nothing of SQL.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import pkgutil
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pipelines.hidden import show
from pipelines.kept import fingerprint, keep, read_kept
from pipelines.resources import PACKAGE
from pipelines.warehouse import contracts
from pipelines.warehouse.contracts.facts import Facts

if TYPE_CHECKING:
    from pipelines.warehouse.contracts.contract import Contract

_LIBRARIES = ("pandera", "pandas", "pyarrow")


@functools.cache
def facts() -> dict[str, Facts]:
    """Return what the contract of each table says, by the table's name."""
    of = fingerprint(*sources(), *map(version, _LIBRARIES))
    with contextlib.suppress(msgspec.DecodeError):
        return msgspec.json.decode(read_kept("contracts", of) or b"", type=dict[str, Facts])
    found = {name: model.facts() for name, model in _models().items()}
    keep("contracts", of, msgspec.json.encode(found))
    return found


def contract_of(table: str) -> type[Contract]:
    """Return the Pandera model of a table."""
    return _models()[table]


def sources() -> list[Path]:
    """Return the files that decide what contracts say: theirs, and what of the project those import."""
    return [
        *sorted(Path(contracts.__path__[0]).glob("*.py")),
        PACKAGE / "settings" / "kinds.py",
        PACKAGE / "literals.py",
    ]


@functools.cache
def _models() -> dict[str, type[Contract]]:
    show()
    for module in pkgutil.iter_modules(contracts.__path__):
        importlib.import_module(f"{contracts.__name__}.{module.name}")
    from pipelines.warehouse.contracts.contract import Contract  # noqa: PLC0415 -- slow, and mostly not needed

    return {model.grain().table: model for model in Contract.__subclasses__()}
