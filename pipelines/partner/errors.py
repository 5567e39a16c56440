"""The errors of the partner client.

    PartnerError
    ├── RequestFailed              one id: its attempts are used up, or a retry cannot help
    └── RunStopped                 nothing more can be requested in this run
        ├── PartnerMisconfigured   a setting is invalid; nothing was sent
        ├── AuthenticationFailed   no token: rejected, or the response does not match the settings
        ├── TokenRefused           401 again, with a token just renewed, whatever is requested
        ├── ListingBroken          the list of stores does not match the settings
        ├── RunTooLong             [partner] max_run_seconds are over
        └── ServiceDown            sustained failure; the circuit breaker gave up

No message contains a body, a token, a credential or a header's value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.partner.answers import Failed


class PartnerError(Exception):
    """A request to the partner service failed."""


class RequestFailed(PartnerError):
    """The request for one id failed; `failed` has code, reason and figures."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(f"{failed.kind} {failed.id}: {failed.reason} ({failed.code})")
        self.failed = failed


class RunStopped(PartnerError):
    """Nothing more can be requested in this run."""


class PartnerMisconfigured(RunStopped):
    """A setting is invalid; nothing was sent."""


class AuthenticationFailed(RunStopped):
    """The service issues no token."""


class TokenRefused(RunStopped):
    """The service rejects a token that it has just issued."""


class ListingBroken(RunStopped):
    """The list of stores does not match the settings, or does not end."""


class RunTooLong(RunStopped):
    """The run has requested documents for [partner] max_run_seconds."""


class ServiceDown(RunStopped):
    """The service failed for longer than [partner] outage_timeout_seconds."""
