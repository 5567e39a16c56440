"""One access token for all requests, renewed once for all that wait; a Secret, as credentials are."""

import asyncio
import base64
import math
import re
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from dataclasses import dataclass

import httpx
import msgspec

from pipelines.partner import exchange, pointer
from pipelines.partner.behaviour import Behaviour
from pipelines.partner.pacing import Clock
from pipelines.settings import Partner, Secret

_PLACE = re.compile(r"\{(client_id|client_secret)\}")
# A token is sent in a header: printable ASCII, no space at either end (RFC 9110 section 5.5).
_TOKEN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?", re.ASCII)
_HALF = re.compile("[\ud800-\udfff]")  # of a surrogate pair: an undecodable byte of the environment, cannot be sent
_JWT_PARTS = 3
_EARLY_SHARE, _EARLY_SECONDS = 0.1, 30.0


@dataclass(frozen=True)
class Token(httpx.Auth):
    """A token, its `header`, when it was obtained and expires (monotonic; None: not stated), its stated lifetime."""

    header: str
    header_value: Secret
    origin: tuple[str, str, int | None]
    obtained_at: float
    expires_at: float | None = None
    life: float | None = None

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        """Send the request with the token, unless it goes elsewhere."""
        if origin_of(request.url) == self.origin:
            request.headers[self.header] = self.header_value.reveal()
        yield request


def origin_of(url: httpx.URL) -> tuple[str, str, int | None]:
    """Return scheme, host and port."""
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)


def _token(partner: Partner, text: str, *times: float | None) -> Token:
    how = partner.authenticate
    value = Secret(f"{how.scheme} {text}" if how.scheme else text)
    return Token(how.header, value, origin_of(httpx.URL(partner.base_url)), *times)  # type: ignore[arg-type]


class Tokens:
    """Returns the current token; of all tasks that wait for a new one, one requests it."""

    def __init__(
        self, partner: Partner, clock: Clock, ask: Callable[[], Awaitable[bytes]], behaviour: Behaviour
    ) -> None:
        self._partner, self._clock, self._ask, self._behaviour = partner, clock, ask, behaviour
        self._token: Token | None = None
        self._lock = asyncio.Lock()
        self._refused_in_a_row = 0
        self._failed: exchange.RunStopped | None = None

    async def current(self) -> Token:
        """Return a token that has not expired, as far as is known."""
        token = self._token
        if token is not None and not self._expired(token):
            return token
        async with self._lock:
            if self._failed is not None:
                raise type(self._failed)(str(self._failed))
            if self._token is None or self._expired(self._token):
                try:
                    self._token = await self._obtain()
                except exchange.RunStopped as error:
                    self._failed = error  # all that wait get the same error, without another request
                    raise
            return self._token

    async def _obtain(self) -> Token:
        if self._partner.authenticate.encoding == "none":
            _require_credentials(self._partner)  # the client secret is the token of a service without a login
            return _token(self._partner, self._partner.client_secret.reveal(), self._clock.monotonic())
        began = self._clock.monotonic()
        if (token := read_token(self._partner, await self._ask(), self._clock, began)) is None:
            how = self._partner.authenticate
            why = f"the response of {how.path} has no token at {how.token_pointer!r}"
            raise exchange.AuthenticationFailed(f"{why}: check [partner.authenticate] token_pointer")
        if token.life is not None:
            self._record_age("claimed", token.life)
        return token

    def accepted(self, token: Token) -> None:
        """Record that the service accepted a token, and at what age."""
        self._refused_in_a_row = 0
        self._record_age("accepted", self._clock.monotonic() - token.obtained_at)

    def _record_age(self, what: str, seconds: float) -> None:
        self._behaviour.record(self._clock.now(), "authenticate", "token_lifetime", what, seconds)

    def is_replaced(self, token: Token) -> bool:
        """Tell whether a newer token than `token` is in use, or is to be requested."""
        return self._token is not token

    def is_renewed(self, token: Token, last_refusal: float | None) -> bool:
        """Tell whether renewal did not help, so that a rejection of `token` would end the run."""
        is_second = last_refusal is not None and token.obtained_at >= last_refusal
        return is_second or self._refused_in_a_row + (self._token is token) > 1

    def rejected(self, token: Token, last_refusal: float | None) -> None:
        """Discard `token`, unless it has been replaced already.

        `last_refusal` is when the same request was rejected before. Raise TokenRefused if renewal did not help: this
        request was rejected before `token` was obtained, or no token was accepted since.
        """
        is_over = self.is_renewed(token, last_refusal)
        if self._token is token:
            self._token = None
            self._refused_in_a_row += 1
            self._record_age("refused", self._clock.monotonic() - token.obtained_at)
        if is_over:
            self._failed = exchange.TokenRefused(
                "the service rejects a token that it has just issued (401 again): check the permissions of these "
                "credentials, and [partner.authenticate] header and scheme"
            )
            raise exchange.TokenRefused(str(self._failed))

    def _expired(self, token: Token) -> bool:
        return token.expires_at is not None and self._clock.monotonic() >= token.expires_at


def authenticate_request(partner: Partner) -> httpx.Request:
    """Return the request of interface section 4.1, as configured in [partner.authenticate]."""
    how = partner.authenticate
    _require_credentials(partner)
    url = partner.base_url.rstrip("/") + how.path
    if how.encoding == "json":
        return httpx.Request("POST", url, headers=exchange.ASK_FOR_JSON, json=_filled(partner))
    if how.encoding == "form":
        return httpx.Request("POST", url, headers=exchange.ASK_FOR_JSON, data=_filled(partner))
    if how.encoding == "headers":
        return httpx.Request("POST", url, headers={**exchange.ASK_FOR_JSON, **_filled(partner)})
    pair = f"{partner.client_id.reveal()}:{partner.client_secret.reveal()}"
    headers = {**exchange.ASK_FOR_JSON, "Authorization": f"Basic {base64.b64encode(pair.encode()).decode('ascii')}"}
    return httpx.Request("POST", url, headers=headers, data=_filled(partner))


def missing_credentials(partner: Partner) -> list[str]:
    """Return the credentials that the request for a token needs and that are missing or not valid text."""
    how = partner.authenticate
    needed = set(_PLACE.findall(" ".join(how.body.values())))
    if how.encoding == "basic":
        needed = {"client_id", "client_secret"}
    elif how.encoding == "none":
        needed = {"client_secret"}
    texts = {name: getattr(partner, name).reveal() for name in sorted(needed)}
    return [name for name, text in texts.items() if not text or _HALF.search(text)]


def refusal(path: str, status: int) -> str:
    """Return why no token was issued, and which setting to check."""
    likely = {
        401: "[partner] client_id and client_secret, then [partner.authenticate] encoding",
        403: "what these credentials may do, then [partner.authenticate] encoding",
        407: "name and password of the proxy, in HTTP_PROXY or HTTPS_PROXY",
        415: "[partner.authenticate] encoding",
        **dict.fromkeys((400, 422), "the fields of [partner.authenticate] body, then its encoding"),
    }
    return f"{path} answers {status}: check {likely.get(status, '[partner.authenticate] path')}"


def _require_credentials(partner: Partner) -> None:
    for name in missing_credentials(partner):
        variable = f"ORDERMART_PARTNER__{name.upper()}"
        raise exchange.PartnerMisconfigured(f"[partner] {name} is missing or not valid text: set {variable}")


def read_token(partner: Partner, body: bytes, clock: Clock, began: float) -> Token | None:
    """Return the token in the response to the request sent at `began`; None if there is none.

    It expires as the response states, else as the JWT states, else when it is rejected; a tenth of its lifetime (at
    most 30 s) early, so that it does not expire in transit. Raises nothing: a traceback would contain the response.
    """
    how = partner.authenticate
    try:
        answer = msgspec.json.decode(body)
        text = pointer.get(answer, how.token_pointer)
    except (ValueError, RecursionError, pointer.PointerError):
        return None
    if not isinstance(text, str) or not _TOKEN.fullmatch(text):
        return None
    life, parts = math.nan, text.split(".")
    with suppress(pointer.PointerError, TypeError, ValueError, OverflowError):
        life = float(pointer.get(answer, how.expires_in_pointer)) if how.expires_in_pointer else life  # or a string
    if not 0.0 < life < math.inf and len(parts) == _JWT_PARTS:
        with suppress(TypeError, ValueError, KeyError, OverflowError, RecursionError):
            # RFC 7519 section 4.1.4; the service verifies the signature.
            claims = msgspec.json.decode(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
            life = float(claims["exp"]) - clock.now().timestamp()
    if not 0.0 < life < math.inf:
        return _token(partner, text, clock.monotonic())
    return _token(partner, text, clock.monotonic(), began + life - min(_EARLY_SECONDS, life * _EARLY_SHARE), life)


def _filled(partner: Partner) -> dict[str, str]:
    def reveal(match: re.Match[str]) -> str:
        secret: Secret = getattr(partner, match[1])
        return secret.reveal()

    return {key: _PLACE.sub(reveal, value) for key, value in partner.authenticate.body.items()}
