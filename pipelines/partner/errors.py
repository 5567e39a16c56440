"""The errors of asking the partner service.

    PartnerError
    ├── RequestFailed              one id: its tries are used up, or trying again is of no use
    └── RunStopped                 nothing more can be asked in this run
        ├── PartnerMisconfigured   a setting cannot hold; nothing was sent
        ├── AuthenticationFailed   no token: refused, or the answer is not what the settings say
        ├── TokenRefused           401 again, with a token renewed for that very request
        ├── ListingBroken          the list of stores is not what the settings say
        └── ServiceDown            sustained failure; the breaker gave up

Knows nothing of payloads: no message holds a body, a token, a credential or a header's value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.partner.answers import Failed


class PartnerError(Exception):
    """Asking the partner service failed."""


class RequestFailed(PartnerError):
    """One request failed for good; `failed` has its code, its reason and its figures."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(f"{failed.kind} {failed.id}: {failed.reason} ({failed.code})")
        self.failed = failed


class RunStopped(PartnerError):
    """Nothing more can be asked in this run."""


class PartnerMisconfigured(RunStopped):
    """A setting cannot hold; nothing was sent."""


class AuthenticationFailed(RunStopped):
    """The service gives no token."""


class TokenRefused(RunStopped):
    """The service refuses a token that it has just given."""


class ListingBroken(RunStopped):
    """The list of stores is not what the settings say, or does not end."""


class ServiceDown(RunStopped):
    """The service failed for so long that asking on is of no use."""
