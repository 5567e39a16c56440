"""Signatures: each kind over real HTTP, made as their senders do, and the ways in which they can be wrong."""

from __future__ import annotations

import base64
import hashlib
import hmac
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standardwebhooks import Webhook

from pipelines.inbox.store import Decoder, verifier
from pipelines.inbox.worklist import WorkList
from pipelines.settings import Secret, SettingsError, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.settings import WebhookSettings

SECRET = "s3cret of 20 letters"
BODY = b'{"topic": "orders.update", "data": {"id": 5}}'
STANDARD = "whsec_" + base64.b64encode(b"a key of twenty-four byt").decode()


def standard(at: datetime, body: bytes = BODY, secret: str = STANDARD) -> dict[str, str]:
    """Return the headers that the library of Standard Webhooks makes."""
    signature = Webhook(secret).sign("msg_1", at, body.decode())
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": signature,
    }


def digest(key: str, signed: bytes) -> bytes:
    """Return HMAC-SHA256."""
    return hmac.new(key.encode(), signed, hashlib.sha256).digest()


def test_standard_webhooks(start: Callable[..., Any]) -> None:
    """A delivery that the library signed is taken; changed, stale, early, otherwise signed or unsigned it is not."""
    running = start('signature = "standard_webhooks"', ORDERMART_WEBHOOKS__SECRET=STANDARD)
    now = datetime.now(UTC)
    assert running.post(BODY, standard(now)).status_code == 202
    other = "whsec_" + base64.b64encode(b"another key of some bytes").decode()
    for headers in (
        {},
        standard(now, b"{}"),
        standard(now - timedelta(seconds=310)),
        standard(now + timedelta(seconds=310)),
        standard(now, secret=other),
        {**standard(now), "webhook-id": "msg_2"},
        {**standard(now), "webhook-timestamp": "nan"},
        {**standard(now), "webhook-signature": "v1"},
        {**standard(now), "webhook-signature": "v1,é"},
    ):
        assert running.post(BODY, headers).status_code == 401
    assert running.deliveries() == [("orders.update", "orders", 5, "msg_1", None)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "header", "text"),
    [
        # As github.com signs: hex behind "sha256=".
        ("", "X-Hub-Signature-256", lambda mac: "sha256=" + mac.hex()),
        # As shopify.com signs: bare base64.
        (
            'signature_header = "X-Shop-Hmac-Sha256"\nsignature_encoding = "base64"\nsignature_prefix = ""',
            "X-Shop-Hmac-Sha256",
            lambda mac: base64.b64encode(mac).decode(),
        ),
    ],
)
def test_hmac_of_the_body(start: Callable[..., Any], lines: str, header: str, text: Callable[[bytes], str]) -> None:
    """The common forms of HMAC-SHA256 over the body are taken; another body, key or encoding is not."""
    running = start('signature = "hmac_sha256"\n' + lines, ORDERMART_WEBHOOKS__SECRET=SECRET)
    good = text(digest(SECRET, BODY))
    assert running.post(BODY, {header: good}).status_code == 202
    for bad in (text(digest(SECRET, BODY + b" ")), text(digest("other", BODY)), good[:-2], good + "00", "", "é"):
        assert running.post(BODY, {header: bad}).status_code == 401
    assert running.post(BODY).status_code == 401
    assert len(running.deliveries()) == 1


def test_hmac_with_a_signed_time(start: Callable[..., Any]) -> None:
    """A signed time makes a delivery stale; a time that was changed afterwards breaks the signature."""
    running = start(
        'signature = "hmac_sha256"\nsignature_header = "X-Signature"\nsignature_prefix = "v0="\n'
        'timestamp_header = "X-Request-Timestamp"\nsigning_template = "v0:{timestamp}:{body}"\ntolerance_seconds = 60',
        ORDERMART_WEBHOOKS__SECRET=SECRET,
    )

    def headers(at: float) -> dict[str, str]:
        mac = digest(SECRET, b"v0:%d:" % at + BODY)
        return {"X-Signature": "v0=" + mac.hex(), "X-Request-Timestamp": str(int(at))}

    now = time.time()
    assert running.post(BODY, headers(now)).status_code == 202
    assert running.post(BODY, headers(now - 70)).status_code == 401
    assert running.post(BODY, headers(now + 70)).status_code == 401
    assert running.post(BODY, {**headers(now - 70), "X-Request-Timestamp": str(int(now))}).status_code == 401
    assert len(running.deliveries()) == 1


def webhooks(tmp_path: Path, lines: str, secret: str) -> WebhookSettings:
    """Read settings with these lines."""
    file = tmp_path / "ordermart.toml"
    file.write_text(f"[webhooks]\n{lines}")
    return load_settings(file, {"ORDERMART_WEBHOOKS__SECRET": secret}).webhooks


@pytest.mark.parametrize("secret", ["", "whsec_", "not base64!", "whsec_é"])
def test_a_secret_of_no_use_is_said(tmp_path: Path, secret: str) -> None:
    """A secret that Standard Webhooks cannot use ends the start with the variable's name and not the secret."""
    with pytest.raises(SettingsError, match="ORDERMART_WEBHOOKS__SECRET") as caught:
        verifier(webhooks(tmp_path, 'signature = "standard_webhooks"', secret))
    assert not secret.strip("whsec_") or secret not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "secret"),
    [
        ("hmac_sha256", "fifteen letters"),
        ("hmac_sha256", "ééééééé"),
        ("standard_webhooks", "whsec_" + base64.b64encode(b"fifteen letters").decode()),
    ],
)
def test_a_short_secret_is_refused(tmp_path: Path, kind: str, secret: str) -> None:
    """A secret of fewer than 16 bytes ends the start; one of 16 does not."""
    with pytest.raises(SettingsError, match="at least 16 bytes") as caught:
        verifier(webhooks(tmp_path, f'signature = "{kind}"', secret))
    assert secret not in str(caught.value)
    longer = secret + "++" if kind == "hmac_sha256" else "whsec_" + base64.b64encode(b"sixteen letters!").decode()
    verifier(webhooks(tmp_path, f'signature = "{kind}"', longer))


@pytest.mark.slow
@settings(deadline=None)
@given(
    body=st.binary(max_size=200),
    headers=st.dictionaries(
        st.sampled_from([b"webhook-id", b"webhook-timestamp", b"webhook-signature", b"x-hub-signature-256"]),
        st.binary(max_size=40) | st.sampled_from([b"1795212902", b"v1,", b"v1,AAAA v1", b"sha256=00", b"v1,AAAA"]),
    ),
    kind=st.sampled_from(["standard_webhooks", "hmac_sha256"]),
)
def test_nothing_unsigned_gets_through(
    tmp_path_factory: pytest.TempPathFactory, body: bytes, headers: dict[bytes, bytes], kind: str
) -> None:
    """Whatever bytes stand in the headers and the body, an unsigned delivery is refused without an error."""
    settings = webhooks(tmp_path_factory.mktemp("s"), f'signature = "{kind}"', STANDARD)
    assert verifier(settings)(headers, body, 1795212902.0) is False


# From Wycheproof (github.com/C2SP/wycheproof, testvectors_v1/hmac_sha256_test.json, tests 28 to 64; Apache-2.0):
# the key is 00 to 1f; of each message, the tag has bit 0 flipped, and the other tests have another of these.
WYCHEPROOF_KEY = bytes(range(32))
WYCHEPROOF = {
    b"": "d28b42096d80f45f826b44a9d5607de72496a415d3f4a1a8c88e3bb9da8dc1cb",
    bytes(range(16)): "d9b99f2709a3ca74172cbe93824c1f29b23a0c1e9c21bd851ff2d2c39dbef14e",
}
FLIPPED_BITS = (0, 1, 7, 8, 31, 32, 33, 63, 64, 71, 77, 80, 96, 97, 103, 248, 249, 254, 255)


def flipped(tag: bytes, bit: int) -> bytes:
    """Return a tag with one bit flipped."""
    return bytes(byte ^ (1 << bit % 8 if at == bit // 8 else 0) for at, byte in enumerate(tag))


@pytest.mark.parametrize("message", WYCHEPROOF)
def test_vectors_of_wycheproof(message: bytes, tmp_path: Path) -> None:
    """The tag is taken; one with a bit flipped, cut, longer or of zeros is not."""
    verify = verifier(signed_by(tmp_path, WYCHEPROOF_KEY.decode()))
    tag = flipped(bytes.fromhex(WYCHEPROOF[message]), 0)
    assert verify({b"x-hub-signature-256": b"sha256=" + tag.hex().encode()}, message, 0.0)
    for wrong in (*(flipped(tag, bit) for bit in FLIPPED_BITS), tag[:16], tag[:-1], tag + b"0", bytes(32), b""):
        assert not verify({b"x-hub-signature-256": b"sha256=" + wrong.hex().encode()}, message, 0.0)


def signed_by(tmp_path: Path, secret: str, more: str = "") -> WebhookSettings:
    """Return settings of a signature with a secret."""
    file = tmp_path / "ordermart.toml"
    file.write_text(f'[webhooks]\nsignature = "hmac_sha256"\n{more}\n', encoding="utf-8")
    return msgspec.structs.replace(load_settings(file, {}).webhooks, secret=Secret(secret))


@pytest.mark.slow
def test_signature_check_takes_the_same_time_wherever_it_differs(tmp_path: Path) -> None:
    """A signature that is wrong in its first byte, in its last, lacks its prefix or is none: no early exit."""
    verify = verifier(signed_by(tmp_path, SECRET))
    body = bytes(200_000)
    good = digest(SECRET, body).hex()
    first, last = f"sha256={good[::-1]}", f"sha256={good[:-1]}{'0' if good[-1] != '0' else '1'}"
    cases = [first, last, good, "", "sha256=zz", f"sha256={good}"]

    def fastest(text: str) -> float:
        headers, times = {b"x-hub-signature-256": text.encode()}, []
        for _ in range(300):
            began = time.perf_counter()
            verify(headers, body, 0.0)
            times.append(time.perf_counter() - began)
        return min(times)

    found = [fastest(text) for text in cases]
    assert max(found) < 1.25 * min(found), found


def test_id_comes_from_what_was_signed(start: Callable[..., Any]) -> None:
    """Headers that no signature covers name neither id nor topic, and one delivery makes one id due."""
    running = start('signature = "hmac_sha256"', ORDERMART_WEBHOOKS__SECRET=SECRET)
    signed = {"X-Hub-Signature-256": "sha256=" + digest(SECRET, BODY).hex()}
    for id_ in range(700, 720):
        assert running.post(BODY, {**signed, "X-Resource-Id": str(id_)}).status_code == 202
        assert running.post(BODY, {**signed, "X-Webhook-Topic": "menus.update"}).status_code == 202
    assert {each[:3] for each in running.deliveries()} == {("orders.update", "orders", 5)}
    with closing(sqlite3.connect(running.inbox)) as db:
        assert db.execute("select kind, id from entries").fetchall() == [("orders", 5)]


def test_unsigned_topic_needs_its_setting(tmp_path: Path) -> None:
    """A header names the topic of a signed body only if a setting says so; never the id."""
    headers, body = {b"x-topic": b"menus.update", b"x-resource-id": b"7"}, b'{"id": 5}'
    found = Decoder(signed_by(tmp_path, SECRET)).decode(headers, body)
    assert (found.topic, found.id) == (None, None)
    found = Decoder(signed_by(tmp_path, SECRET, "allow_unsigned_topic = true")).decode(headers, body)
    assert (found.topic, found.id) == ("menus.update", 5)


def test_repeated_delivery_makes_one_request_a_minute(start: Callable[..., Any]) -> None:
    """An id that was just requested is due again a minute later, however often a delivery is repeated."""
    running = start('signature = "hmac_sha256"', ORDERMART_WEBHOOKS__SECRET=SECRET)
    signed = {"X-Hub-Signature-256": "sha256=" + digest(SECRET, BODY).hex()}
    with WorkList(running.inbox) as work:
        for _ in range(3):
            assert running.post(BODY, signed).status_code == 202
        assert work.due("orders") == [5]
        work.started("orders", [5])
        work.done("orders", [5])
        for _ in range(3):
            assert running.post(BODY, signed).status_code == 202
        assert work.due("orders") == []
        entry = work.entry("orders", 5)
    assert entry is not None
    assert entry.due_at is not None
    assert entry.last_attempt_at is not None
    assert entry.due_at - entry.last_attempt_at == timedelta(minutes=1)


def test_signed_deliveries_have_a_rate_too(start: Callable[..., Any]) -> None:
    """A sender that repeats a signed delivery has to wait."""
    running = start('signature = "hmac_sha256"\nmax_per_second = 0.1', ORDERMART_WEBHOOKS__SECRET=SECRET)
    signed = {"X-Hub-Signature-256": "sha256=" + digest(SECRET, BODY).hex()}
    assert [running.post(BODY, signed).status_code for _ in range(4)] == [202, 202, 429, 429]
