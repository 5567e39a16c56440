"""Landing: validate the bytes of stores, menus and orders, and write raw files without personal data."""

from typing import TYPE_CHECKING

from pipelines.resources import exported

if TYPE_CHECKING:
    from pipelines.landing.archives import Asked, Backfilled, ObservedMenus, backfill, land_files, time_in
    from pipelines.landing.charges import CHARGES, PRICES, expanded, read_sql
    from pipelines.landing.data_folder import (
        FORMATS,
        applied_erasures,
        guard_format,
        guard_source,
        keep_behaviour,
        migrate,
        note_erasure,
        note_formats,
        service_log,
        service_log_state,
    )
    from pipelines.landing.documents_in_files import UNREADABLE, JsonStream, documents, open_file
    from pipelines.landing.index import clock_set_back
    from pipelines.landing.load import Load
    from pipelines.landing.merge import erase_in_raw, merge_days
    from pipelines.landing.raw_folder import (
        LandingError,
        Lock,
        Manifest,
        RawDamageError,
        RawFile,
        RawFiles,
        check_raw,
        raw_files,
        read_manifest,
        write_manifest,
    )
    from pipelines.landing.raw_rows import OBSERVATIONS, Cost, LoadSummary, Refusal, ValidatedDocument, documents_schema
    from pipelines.landing.reprocess import Rekeeper, reprocess_quarantine
    from pipelines.landing.shape import ORDER, SHAPES, ArrayField, Field, MapField, ObjectField, Shape
    from pipelines.landing.unknown_fields import without_plaintext
    from pipelines.landing.validate import Validator, documented, paths_of_products
else:
    __getattr__ = exported(__name__, __file__)

__all__ = [
    "CHARGES",
    "FORMATS",
    "OBSERVATIONS",
    "ORDER",
    "PRICES",
    "SHAPES",
    "UNREADABLE",
    "ArrayField",
    "Asked",
    "Backfilled",
    "Cost",
    "Field",
    "JsonStream",
    "LandingError",
    "Load",
    "LoadSummary",
    "Lock",
    "Manifest",
    "MapField",
    "ObjectField",
    "ObservedMenus",
    "RawDamageError",
    "RawFile",
    "RawFiles",
    "Refusal",
    "Rekeeper",
    "Shape",
    "ValidatedDocument",
    "Validator",
    "applied_erasures",
    "backfill",
    "check_raw",
    "clock_set_back",
    "documented",
    "documents",
    "documents_schema",
    "erase_in_raw",
    "expanded",
    "guard_format",
    "guard_source",
    "keep_behaviour",
    "land_files",
    "merge_days",
    "migrate",
    "note_erasure",
    "note_formats",
    "open_file",
    "paths_of_products",
    "raw_files",
    "read_manifest",
    "read_sql",
    "reprocess_quarantine",
    "service_log",
    "service_log_state",
    "time_in",
    "without_plaintext",
    "write_manifest",
]
