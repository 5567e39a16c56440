"""The HTTP client of the partner service: authentication, requests, retries, limits, errors.

Returns bytes.
"""

from pipelines.partner.answers import Failed, Fetched
from pipelines.partner.client import PartnerClient
from pipelines.partner.clock import Clock
from pipelines.partner.errors import (
    AuthenticationFailed,
    ListingBroken,
    PartnerError,
    PartnerMisconfigured,
    RequestFailed,
    RunStopped,
    RunTooLong,
    ServiceDown,
    TokenRefused,
)
from pipelines.partner.fetch import fetch_all

__all__ = [
    "AuthenticationFailed",
    "Clock",
    "Failed",
    "Fetched",
    "ListingBroken",
    "PartnerClient",
    "PartnerError",
    "PartnerMisconfigured",
    "RequestFailed",
    "RunStopped",
    "RunTooLong",
    "ServiceDown",
    "TokenRefused",
    "fetch_all",
]
