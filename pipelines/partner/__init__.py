"""The HTTP client of the partner service: authentication, requests, retries, limits, errors.

Returns bytes.
"""

from pipelines.partner.answers import (
    AuthenticationFailed,
    Failed,
    Fetched,
    ListingBroken,
    PartnerError,
    PartnerMisconfigured,
    RequestFailed,
    RunStopped,
    RunTooLong,
    ServiceDown,
    TokenRefused,
)
from pipelines.partner.client import PartnerClient, fetch_all
from pipelines.partner.pacing import Clock

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
