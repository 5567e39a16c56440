"""Send one request, read its body up to a limit, and return an Answer or a RequestError; never raise.

Exceptions of httpx and aiohttp hold request headers, and so the token: none leaves this file, neither as a cause nor in
a frame of a traceback.

Results of requests: Fetched for an id, Answer or RequestError for one attempt; errors.

    RunStopped                 nothing more can be requested in this run
    ├── PartnerMisconfigured   a setting is invalid; nothing was sent
    ├── AuthenticationFailed   no token: rejected, or the response does not match the settings
    ├── TokenRefused           401 again, with a token just renewed, whatever is requested
    ├── ListingBroken          the list of stores does not match the settings
    ├── RunTooLong             [partner] max_run_seconds are over
    └── ServiceDown            sustained failure; the circuit breaker gave up

A repr shows figures, never a body. No message contains a body, a token, a credential or a header's value.
"""

import asyncio
import builtins
import contextlib
import functools
import zlib
from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, cast

import httpx

from pipelines.literals import unmarked
from pipelines.partner.behaviour import ERROR_BODY, Behaviour, shape
from pipelines.partner.pacing import Clock, seconds_to_wait
from pipelines.partner.pointer import is_json
from pipelines.settings.kinds import Kind


class Attempt(NamedTuple):
    """A request that was followed by another for the same id: its status (None: no response) and a short code."""

    http_status: int | None
    code: str
    ms: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The end of all requests for one id: status 200 with a body, 404 without one, or no usable response.

    Without one it has a short code, and a sentence that quotes no body; `status` is the last HTTP status, None if there
    was none. A body above the limit is cut just there. `ms` is the duration of the last attempt, `bytes` the size of
    the body as read. `attempts` counts all requests sent for the id, `earlier` has all but the last. `date` is the
    header of this name: the service's clock. `age` is for how many seconds a cache kept the answer.
    """

    kind: Kind
    id: int
    fetched_at: datetime
    status: int | None
    body: builtins.bytes = field(default=b"", repr=False)
    code: str = ""
    message: str = ""
    ms: float
    bytes: int
    attempts: int
    earlier: tuple[Attempt, ...] = ()
    date: str = field(default="", repr=False)
    age: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A successful attempt: a status with a meaning (200, 401, 404), and its body."""

    status: int
    body: bytes = field(repr=False)
    ms: float
    oversize: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # names in lower case
    links: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestError:
    """A failed attempt.

    `transient`: a retry may help. `service`: the service as a whole is at fault (slow, overloaded or down), which
    concurrency limit and circuit breaker record. `overload`: the service says so. `body`: of a complete response that
    is not a usable document: not JSON, without a documented field, or the document of another id.
    """

    code: str
    message: str
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


def unusable(answer: Answer, code: str, message: str, **more: Any) -> RequestError:
    """Return a complete answer as an error of its url: what it has is no usable document."""
    size = len(answer.body)
    return RequestError(
        code=code, message=message, status=answer.status, ms=answer.ms, bytes=size, service=False, **more
    )


class RunStopped(Exception):
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


_GZIP_OR_ZLIB = 47  # window bits: 32 + 15, the header says which


class BodyError(Exception):
    """A body cannot be read: an unsupported encoding, or compressed data that ends early."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


async def read_body(response: httpx.Response, encoding: str, limit: int) -> tuple[bytes, bool]:
    """Return the body and whether it exceeds `limit` bytes, where it is cut; `encoding` is its Content-Encoding.

    Raise BodyError for an unsupported encoding and for compressed data that ends early.
    """
    coding = encoding.strip().lower()
    if coding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
        raise BodyError("content_encoding", "the body has a content encoding that was not requested")
    unpacker = None if coding in {"", "identity"} else zlib.decompressobj(wbits=_GZIP_OR_ZLIB)
    body = bytearray()
    try:
        # As they come: aiter_raw adds two generators and a context to each body, and the sender closes the stream.
        async for chunk in cast("AsyncIterable[bytes]", response.stream):
            # One byte above the limit is enough: a decompression bomb is never expanded.
            body += unpacker.decompress(chunk, limit + 1 - len(body)) if unpacker else chunk
            if len(body) > limit:
                return bytes(body[: limit + 1]), True
            if unpacker and unpacker.eof:
                break  # zlib would keep all that follows
    except zlib.error:
        raise BodyError("truncated", "the body is not the gzip data that it claims to be") from None
    if unpacker and not unpacker.eof:
        raise BodyError("truncated", "the compressed body ends early")
    return bytes(body), False


ASK_FOR_JSON = {
    "Accept": "application/json",
    "Accept-Encoding": "gzip",
    "Cache-Control": "no-cache",  # a cache in between asks the service whether what it keeps is still so
    "User-Agent": "ordermart",
}

_OK, _CREATED, _UNAUTHORIZED, _NOT_FOUND, _TOO_MANY = 200, 201, 401, 404, 429
_REQUEST_TIMEOUT, _TOO_EARLY = 408, 425
_REDIRECTS = range(300, 400)
_SERVER_ERRORS = range(500, 600)
_LASTING = {"certificate"}  # nothing that passes within minutes: it is not tried again
NO_ADDRESS, PROXY = "no_address", "proxy"
_CERTIFICATE = (
    "the service's certificate is not valid: expired, for another name, or of an authority that is not trusted here "
    "(SSL_CERT_FILE names those that are)"
)
_DRAIN = 65_536  # bytes read of an unused body, so that the connection can be reused


class Recorder(NamedTuple):
    """Where responses are counted, and for which operation."""

    behaviour: Behaviour
    operation: str


async def exchange(
    client: httpx.AsyncClient,
    request: httpx.Request,
    *,
    auth: httpx.Auth | None = None,
    limit: int,
    seconds: float,
    clock: Clock,
    recorder: Recorder | None = None,
) -> Answer | RequestError:
    """Send `request` and read at most just over `limit` bytes, all within `seconds`; `recorder` counts the response.

    Only cancellation is raised, and without a trace of the request.
    """
    began = clock.monotonic()
    outcome: Answer | RequestError | None = None
    fault: tuple[str, str] | None = None
    try:
        async with asyncio.timeout(seconds):
            response = await client.send(request, stream=True, auth=auth)
            counted = recorder or Recorder(Behaviour(), "")
            outcome = await _answer(response, request.method, limit, clock, began, counted)
    except asyncio.CancelledError:
        fault = None
    except BodyError as error:
        fault = (error.code, str(error))
    except Exception as error:  # noqa: BLE001  third-party errors hold the token: none may escape
        fault = _named(error)
    if outcome is not None:
        return outcome
    if fault is None:
        # A new one: the frames of the caught one hold the headers.
        raise asyncio.CancelledError
    code, message = fault
    ms, is_passing = _since(clock, began), code not in _LASTING
    return RequestError(
        code=code, message=message, status=None, ms=ms, transient=is_passing, overload=code == "timeout"
    )


async def _answer(
    response: httpx.Response, method: str, limit: int, clock: Clock, began: float, recorder: Recorder
) -> Answer | RequestError:
    try:
        status = response.status_code
        # One pass over the raw headers: httpx scans all of them for each lookup.
        raw = response.headers.raw
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in raw}
        recorder.behaviour.record_response(clock.now(), recorder.operation, status, headers.items())
        # A token may be answered with 201; a document is 200.
        if status != _OK and not (status == _CREATED and method == "POST"):
            return await _not_ok(response, headers, clock, began, recorder)
        if "html" in headers.get("content-type", "").lower():  # any other may be JSON, as the body then shows
            message = "the content type is not JSON"
            ms = _since(clock, began)
            return RequestError(code="content_type", message=message, status=status, ms=ms)
        body, oversize = await read_body(response, headers.get("content-encoding", ""), limit)
        ms, body = _since(clock, began), unmarked(body)
        if not oversize and not is_json(body):
            framed = "content-length" in headers or "transfer-encoding" in headers
            return RequestError(
                code="not_json",
                message="the body is not JSON" if framed else "the body ended before its end",
                status=status,
                ms=ms,
                bytes=len(body),
                service=not framed,
                # Without framing, a lost connection looks like the end of the body.
                body=body if framed else None,
            )
        links = tuple(response.headers.get_list("link")) if "link" in headers else ()
        return Answer(status=status, body=body, ms=ms, oversize=oversize, headers=headers, links=links)
    finally:
        await response.aclose()


async def _not_ok(
    response: httpx.Response, headers: dict[str, str], clock: Clock, began: float, recorder: Recorder
) -> Answer | RequestError:
    status = response.status_code
    retry_after = seconds_to_wait(headers.get("retry-after"), clock.now())
    # Only the status counts here, not a broken body.
    with contextlib.suppress(BodyError, httpx.HTTPError):
        body, _ = await read_body(response, headers.get("content-encoding", ""), _DRAIN)
        of_body = f"{status} {shape(unmarked(body))}"
        asked = str(response.request.url.path)
        recorder.behaviour.record(clock.now(), recorder.operation, ERROR_BODY, of_body, len(body), asked)
    if retry_after is not None:
        recorder.behaviour.record(clock.now(), recorder.operation, "retry_after", str(status), retry_after)
    ms = _since(clock, began)
    if status in (_UNAUTHORIZED, _NOT_FOUND):
        return Answer(status=status, body=b"", ms=ms, headers=headers)
    if status in _REDIRECTS:
        code, message = "redirect", f"the service redirects ({status}): set base_url to the final address"
    elif status == _TOO_MANY:
        code, message = "rate_limited", "rate limited by the service (429)"
    elif status in _SERVER_ERRORS:
        code, message = "server_error", f"the service failed ({status})"
    else:
        code, message = f"status_{status}", f"the service answers {status}"
    failing = status in _SERVER_ERRORS or status == _REQUEST_TIMEOUT
    return RequestError(
        code=code,
        message=message,
        status=status,
        ms=ms,
        transient=failing or status in (_TOO_MANY, _TOO_EARLY),
        service=failing,
        overload=failing or status == _TOO_MANY,
        retry_after=retry_after,
    )


def _named(error: Exception) -> tuple[str, str]:
    # The transport maps aiohttp's errors to httpx's, some misleadingly: the cause is more precise.
    for raised in (error.__cause__, error):
        for kind, code, message in _faults():
            if isinstance(raised, kind):
                return code, message
    return "transport", f"the transport failed ({type(error).__name__})"


@functools.cache
def _faults() -> tuple[tuple[type[BaseException], str, str], ...]:
    """Return codes and reasons by exception; the first match counts."""
    import aiohttp  # noqa: PLC0415 -- slow, and a run that requests nothing needs none

    return (
        (aiohttp.ServerTimeoutError, "timeout", "no bytes came in time"),
        (httpx.ReadTimeout, "timeout", "no bytes came in time"),
        (TimeoutError, "timeout", "the whole answer did not come in time"),
        (aiohttp.ClientConnectorCertificateError, "certificate", _CERTIFICATE),
        (aiohttp.ClientProxyConnectionError, PROXY, "no connection to the proxy could be made"),
        (aiohttp.ClientHttpProxyError, PROXY, "the proxy makes no connection to the service"),
        (aiohttp.ClientConnectorDNSError, NO_ADDRESS, "no address is known for the name in [partner] base_url"),
        (aiohttp.ClientConnectorError, "connect", "no connection could be made"),
        (httpx.ConnectError, "connect", "no connection could be made"),
        (aiohttp.ClientPayloadError, "truncated", "the body ended before its stated end"),
        (aiohttp.ServerDisconnectedError, "reset", "the connection was closed without an answer"),
        (aiohttp.ClientOSError, "reset", "the connection was reset"),
        (ConnectionError, "reset", "the connection was reset"),
        (httpx.ConnectTimeout, "connect", "no connection could be made in time"),
        (httpx.TimeoutException, "timeout", "the answer did not come in time"),
        (httpx.ReadError, "truncated", "the body ended before its stated end"),
        (aiohttp.ClientResponseError, "protocol", "the answer is not HTTP"),
        (httpx.ProtocolError, "protocol", "the answer is not HTTP"),
    )


def _since(clock: Clock, began: float) -> float:
    return (clock.monotonic() - began) * 1000.0
