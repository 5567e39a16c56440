"""Landing: validate the bytes of stores, menus and orders, and write raw files without personal data."""

from pipelines.landing.archives import Asked, Backfilled, backfill, land_files
from pipelines.landing.data_folder import guard_source
from pipelines.landing.load import Load, open_load
from pipelines.landing.merge import merge_days
from pipelines.landing.raw_files import LandingError, RawFile, RawFiles, raw_files
from pipelines.landing.reprocess import reprocess_quarantine
from pipelines.landing.verdicts import Cost, LoadSummary, Refusal

__all__ = [
    "Asked",
    "Backfilled",
    "Cost",
    "LandingError",
    "Load",
    "LoadSummary",
    "RawFile",
    "RawFiles",
    "Refusal",
    "backfill",
    "guard_source",
    "land_files",
    "merge_days",
    "open_load",
    "raw_files",
    "reprocess_quarantine",
]
