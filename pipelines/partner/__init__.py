"""The HTTP client of the partner service: authentication, requests, retries, limits, errors.

Returns bytes.
"""

from typing import TYPE_CHECKING

from pipelines.resources import exported

if TYPE_CHECKING:
    from pipelines.partner.answers import (
        Answer,
        AuthenticationFailed,
        Behaviour,
        Counted,
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
        shape,
    )
    from pipelines.partner.breaker import Pages, has_a_field
    from pipelines.partner.client import PartnerClient, fetch_all
    from pipelines.partner.listing import LinkError, Listing, sign_of_more, targets, value_at
    from pipelines.partner.pacing import LONGEST_SECONDS, Clock, RetryBudget, full_jitter, seconds_to_wait
    from pipelines.partner.token import authenticate_request, read_token
else:
    __getattr__ = exported(__name__, __file__)

__all__ = [
    "LONGEST_SECONDS",
    "Answer",
    "AuthenticationFailed",
    "Behaviour",
    "Clock",
    "Counted",
    "Failed",
    "Fetched",
    "LinkError",
    "Listing",
    "ListingBroken",
    "Pages",
    "PartnerClient",
    "PartnerError",
    "PartnerMisconfigured",
    "RequestFailed",
    "RetryBudget",
    "RunStopped",
    "RunTooLong",
    "ServiceDown",
    "TokenRefused",
    "authenticate_request",
    "fetch_all",
    "full_jitter",
    "has_a_field",
    "read_token",
    "seconds_to_wait",
    "shape",
    "sign_of_more",
    "targets",
    "value_at",
]
