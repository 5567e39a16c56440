"""Write a report's file atomically: to a draft beside it that replaces it on success."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipelines.finance.released import FinanceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class ReportFileError(FinanceError):
    """The file cannot be written; the message says why."""


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Give the path of a draft that becomes `path` unless the block fails; raise ReportFileError for OSError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield draft
        draft.replace(path)
    except OSError as error:
        raise ReportFileError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
