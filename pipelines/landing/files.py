"""Land documents from files that the partner handed over, through the same gate as fetched ones.

Knows nothing of the service. A line or a document that cannot be taken costs only itself.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from pipelines.landing.durable import LandingError
from pipelines.landing.load import LoadSummary, open_load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from pipelines.settings import Settings
    from pipelines.vault import Vault

    Progress = Callable[[str, int, int], None]


def land_files(
    settings: Settings,
    vault: Vault,
    kind: str,
    paths: Iterable[Path],
    *,
    observed_at: dt.datetime | None = None,
    observed_at_pointer: str = "",
    progress: Progress | None = None,
) -> LoadSummary:
    """Land files as one load of an archive."""
    with open_load(settings, vault, kind, "archive") as load:
        for path in paths:
            for body in _bodies(path):
                load.judge(body, observed_at=observed_at, http_status=None)
        return load.commit()


def _bodies(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file
