"""Speak HTTP to the partner service: authenticate, ask, keep the pace, name the errors.

Knows nothing of Dagster or DuckDB, and nothing of what a document means: it hands on bytes.
"""

from pipelines.partner.answers import Failed, Fetched, Kind
from pipelines.partner.client import PartnerClient
from pipelines.partner.clock import Clock
from pipelines.partner.errors import (
    AuthenticationFailed,
    ListingBroken,
    PartnerError,
    PartnerMisconfigured,
    RequestFailed,
    RunStopped,
    ServiceDown,
    TokenRefused,
)
from pipelines.partner.fetch import fetch_all

__all__ = [
    "AuthenticationFailed",
    "Clock",
    "Failed",
    "Fetched",
    "Kind",
    "ListingBroken",
    "PartnerClient",
    "PartnerError",
    "PartnerMisconfigured",
    "RequestFailed",
    "RunStopped",
    "ServiceDown",
    "TokenRefused",
    "fetch_all",
]
