"""Results of requests: Fetched or Failed for an id, Answer or RequestError for one attempt; errors of the client.

    PartnerError
    ├── RequestFailed              one id: its attempts are used up, or a retry cannot help
    └── RunStopped                 nothing more can be requested in this run
        ├── PartnerMisconfigured   a setting is invalid; nothing was sent
        ├── AuthenticationFailed   no token: rejected, or the response does not match the settings
        ├── TokenRefused           401 again, with a token just renewed, whatever is requested
        ├── ListingBroken          the list of stores does not match the settings
        ├── RunTooLong             [partner] max_run_seconds are over
        └── ServiceDown            sustained failure; the circuit breaker gave up

A repr shows figures, never a body. No message contains a body, a token, a credential or a header's value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import builtins
    from collections.abc import Mapping
    from datetime import datetime

    from pipelines.settings.kinds import Kind


class Attempt(NamedTuple):
    """A request that was followed by another for the same id: its status (None: no response) and a short code."""

    http_status: int | None
    reason: str
    ms: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Response:
    """The end of all requests for one id.

    `ms` is the duration of the last attempt, `bytes` the size of the body as read. `attempts` counts all requests sent
    for the id, `earlier` has all but the last.
    """

    kind: Kind
    id: int
    fetched_at: datetime
    ms: float
    bytes: int
    attempts: int
    earlier: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched(_Response):
    """The response for one id: status 200 with a body, or 404 without one.

    With `oversize` the body is cut just above the limit. `headers` has those that are safe to keep: content-type, etag,
    last-modified, date.
    """

    status: int
    body: builtins.bytes = field(repr=False)
    oversize: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed(_Response):
    """No usable response for one id: a short code, and a sentence that quotes no body.

    `status` is the last HTTP status, None if there was none.
    """

    code: str
    reason: str
    status: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A successful attempt: a status with a meaning (200, 401, 404), and its body."""

    status: int
    body: bytes = field(repr=False)
    ms: float
    oversize: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    links: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestError:
    """A failed attempt.

    `transient`: a retry may help. `service`: the service as a whole is at fault (slow, overloaded or down), which
    concurrency limit and circuit breaker record. `overload`: the service says so. `body`: of a complete response that
    is not a usable document: not JSON, without a documented field, or the document of another id.
    """

    code: str
    reason: str
    status: int | None
    ms: float
    bytes: int = 0
    transient: bool = True
    service: bool = True
    overload: bool = False
    retry_after: float | None = None
    body: builtins.bytes | None = field(default=None, repr=False)
    is_of_many: bool = False  # the same comes for different ids

    @property
    def is_limit(self) -> bool:
        """Whether the service limits its rate, and works."""
        return self.overload and not self.service

    @property
    def is_service_fault(self) -> bool:
        """Whether the service as a whole may be at fault."""
        return self.service or self.overload or self.body is not None


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a request, the number of its attempts, and the results of all but the last."""

    outcome: Answer | RequestError
    attempts: int
    earlier: tuple[Attempt, ...] = ()


def unusable(answer: Answer, code: str, reason: str) -> RequestError:
    """Return a complete answer as an error: what it has is no usable document."""
    return RequestError(
        code=code,
        reason=reason,
        status=answer.status,
        ms=answer.ms,
        bytes=len(answer.body),
        service=False,
        body=answer.body,
    )


def refused_alone(answer: Answer) -> RequestError:
    """Return a 401 as an error of its url: the same token is accepted for others."""
    return RequestError(
        code="unauthorized",
        reason="the service answers 401 for this id alone, and accepts the same token for others",
        status=answer.status,
        ms=answer.ms,
        transient=False,
        service=False,
    )


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
