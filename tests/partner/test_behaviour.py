"""The client counts how the service behaves, and keeps names and figures alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import msgspec
import pytest

from pipelines.landing.data_folder import keep_behaviour, service_log, service_log_state
from pipelines.partner.behaviour import Behaviour, shape, with_shown_keys
from pipelines.partner.client import PartnerClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from pipelines.partner.pacing import Clock
    from pipelines.settings import Partner

AT = datetime(2026, 11, 20, 3, tzinfo=UTC)
CANARY = "K4n4ry"


def test_a_shape_has_keys_and_types_and_no_value() -> None:
    """Values never show; a key that does not look like a name stands for itself as …; depth and width are bounded."""
    body = {"error": {"code": 7, "who": CANARY, f"{CANARY}@example.com": 1}, "list": [{"a": None}], "ok": False}
    told = shape(msgspec.json.encode(body))
    assert told == '{"error":{"code":integer,"who":string,"…":integer},"list":[{"a":null}],"ok":boolean}'
    assert shape(b"") == "empty"
    assert shape(f"<p>{CANARY}".encode()) == "not JSON"
    assert shape(b"[" * 65_536) == "not JSON"
    assert shape(b"[" * 65_537) == "above 64 KiB"
    assert shape(msgspec.json.encode({chr(97 + n): 1 for n in range(20)})).endswith(",…}")
    assert shape(b'{"a":{"b":{"c":{"d":1}}}}') == '{"a":{"b":{"c":object}}}'


def test_an_answer_is_counted_by_names_and_numbers() -> None:
    """Of headers the names are kept, of rate limits the numbers; a hostile name is none."""
    behaviour = Behaviour()
    headers = [("x-ratelimit-remaining", "41; w=60"), ("set-cookie", CANARY), (f"x-{CANARY}-1", CANARY)]
    behaviour.record_response(AT, "orders", 200, headers)
    behaviour.record_response(AT, "orders", 200, [("x-ratelimit-remaining", "7")])
    counted = behaviour.take()
    assert {(each.aspect, each.name): (each.n, each.least, each.greatest) for each in counted} == {
        ("status", "200"): (2, None, None),
        ("header", "x-ratelimit-remaining"): (2, None, None),
        ("rate_limit", "x-ratelimit-remaining"): (2, 7.0, 41.0),
        ("header", "set-cookie"): (1, None, None),
        ("header", "…"): (1, None, None),
    }
    assert CANARY not in repr(counted)
    assert behaviour.take() == []


def test_names_without_end_are_counted_as_one() -> None:
    """A service that answers with ever new names fills no memory."""
    behaviour = Behaviour()
    for number in range(1_000):
        behaviour.record(AT, "orders", "header", f"n{number}")
    counted = behaviour.take()
    assert len(counted) == 501
    assert sum(each.n for each in counted) == 1_000


class _Body(httpx.AsyncByteStream):
    def __init__(self, value: Any) -> None:
        self._bytes = msgspec.json.encode(value)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._bytes


def _says(value: Any, status: int = 200, **headers: str) -> httpx.Response:
    return httpx.Response(status, headers={"content-type": "application/json", **headers}, stream=_Body(value))


def test_the_client_counts_what_it_meets(partner: Callable[..., Partner], jump: Callable[[Any], Any]) -> None:
    """Statuses, waits asked for, error bodies, times and the token's life stand in the counts; no token does."""
    asked = 0

    async def serve(request: httpx.Request) -> httpx.Response:
        nonlocal asked
        if request.method == "POST":
            return _says({"access_token": CANARY, "expires_in": 900})
        asked += 1
        if asked == 1:
            return _says({"error": {"message": CANARY}}, 429, **{"retry-after": "3"})
        return _says({"id": 1})

    async def main(clock: Clock) -> Behaviour:
        network = httpx.MockTransport(serve)
        async with PartnerClient(partner(), transport=network, clock=clock) as client:
            await client.fetch("orders", 1)
            return client.behaviour

    counted = jump(main).take()
    found = {(each.operation, each.aspect, each.name): each for each in counted}
    assert found["orders", "status", "429"].n == found["orders", "status", "200"].n == 1
    assert found["orders", "retry_after", "429"].least == 3.0
    assert found["orders", "error_body", '429 {"error":{"message":string}}'].n == 1
    assert found["orders", "request_error", "rate_limited"].n == 1
    assert found["authenticate", "token_lifetime", "claimed"].greatest == 900.0
    assert found["authenticate", "token_lifetime", "accepted"].n == 1
    assert sum(each.n for each in counted if each.aspect == "duration_ms" and each.operation == "orders") == 2
    assert CANARY not in repr(counted)


def test_counts_add_up_however_many_days_they_are_of(tmp_path: Path) -> None:
    """A month is one file, beside those of an older version, one a day; the state differs when a file does."""
    states = [service_log_state(tmp_path)]
    for day, figure in ((0, 5.0), (0, 2.0), (1, 7.0), (11, 3.0)):
        behaviour, at = Behaviour(), AT + timedelta(days=day)
        behaviour.record(at, "orders", "retry_after", "429", figure)
        behaviour.record(at, "orders", "status", "429")
        keep_behaviour(tmp_path, behaviour.take())
        states.append(service_log_state(tmp_path))
    months = sorted((tmp_path / "raw" / "service").iterdir())
    assert [each.name for each in months] == ["2026-11-01.json", "2026-12-01.json"]
    (months[0].with_name("2026-11-19.json")).write_bytes(months[0].read_bytes())
    rows = [(each.aspect, each.n, each.least, each.greatest, each.last_at) for each in service_log(tmp_path)]
    last_at = AT + timedelta(days=11)
    assert rows == [("retry_after", 7, 2.0, 7.0, last_at), ("status", 7, None, None, last_at)]
    states.append(service_log_state(tmp_path))
    behaviour = Behaviour()
    behaviour.record(AT, "orders", "status", "429")
    keep_behaviour(tmp_path, behaviour.take())
    assert len({*states, service_log_state(tmp_path)}) == 7, "a file before the last ones changed"


@pytest.mark.parametrize(("ids", "is_shown"), [(19, False), (20, True)])
def test_key_of_an_error_body_may_be_a_person(ids: int, is_shown: bool) -> None:
    """It is "?" until answers to 20 ids have it, on whatever days, or settings name it; common words are shown."""
    logs = []
    for part in (range(ids // 2), range(ids // 2, ids)):
        behaviour = Behaviour()
        for n in part:
            for _ in range(3):
                name = '422 {"errors":{"Anna_K":[string],"tip":null}}'
                behaviour.record(AT, "orders", "error_body", name, 10, f"/orders/{n}")
        logs += behaviour.take()
    hidden = '422 {"errors":{"?":[string],"tip":null}}'
    shown = with_shown_keys(logs, ["/errors/tip"])
    assert {each.name for each in shown} == {logs[0].name if is_shown else hidden}
    assert sum(each.n for each in shown) == ids * 3
