"""Signatures: each kind over real HTTP, made by whoever makes them, and the ways in which they can be wrong."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standardwebhooks import Webhook

from pipelines.inbox.signatures import verifier
from pipelines.settings import SettingsError, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.settings import Webhooks

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
    """What the library signed is taken; changed, stale, early, by another key or unsigned it is not, and not stored."""
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


def webhooks(tmp_path: Path, lines: str, secret: str) -> Webhooks:
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
