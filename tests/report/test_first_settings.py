"""The first settings: what a store record seems to have, and `ordermart init` against a service."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from pipelines.report.first_settings import first_record, proposed
from pipelines.sandbox.process import Sandbox
from pipelines.settings import load_settings
from tests.report.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLAT = {"id": 7, "name": "Harbour", "timezone": "Europe/Berlin", "currency": "EUR", "menu_ids": [1, 2]}
NESTED = {
    "store": {"storeId": 7, "display_name": "Harbour", "owner": {"name": "Jane"}},
    "settings": {"tz": "America/New_York", "currency_code": "USD"},
    "menus": [{"id": 5, "title": "Lunch"}],
}


@pytest.mark.parametrize(
    ("record", "pointers"),
    [
        (FLAT, ["/id", "/name", "/timezone", "/currency", ["/menu_ids/*"]]),
        (
            NESTED,
            [
                "/store/storeId",
                "/store/display_name",
                "/settings/tz",
                "/settings/currency_code",
                ["/menus/*/id"],
            ],
        ),
        ({"uuid": "a", "currency": "euro", "zone": "Berlin"}, ["", "", "", "", []]),
        (  # keys that may be personal data, or steer a terminal; one that a search would take hours for
            {
                "ann@canary.example": {"id": 1, "menu": 2},
                "+493055501": {"name": "Ann"},
                "currency\x1b[2J": "EUR",
                "menu" * 200_000 + "-": 1,
                "timezone": "Europe/Berlin",
            },
            ["", "", "/timezone", "", []],
        ),
    ],
    ids=range(4),
)
def test_pointers_are_found_by_name_and_value(record: dict[str, Any], pointers: list[Any]) -> None:
    """Flat or nested, by names that are usual and values that fit; nothing is proposed that does not."""
    assert list(proposed(record).values()) == pointers


@pytest.fixture(scope="module")
def service() -> Iterator[Sandbox]:
    """Start a small service."""
    with Sandbox(orders=5, stores=2) as sandbox:
        yield sandbox


def init(folder: Path, base_url: str, secret: str = "sandbox") -> subprocess.CompletedProcess[str]:  # noqa: S107
    """Run `ordermart init` with its answers on standard input."""
    return subprocess.run(
        [sys.executable, "-m", "pipelines.cli", "init", str(folder / "shop.toml")],
        cwd=ROOT,
        input=f"{base_url}\nsandbox\n",
        env={**os.environ, "ORDERMART_PARTNER__CLIENT_SECRET": secret},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.slow
def test_init_writes_settings_that_work(service: Sandbox, tmp_path: Path) -> None:
    """The record of the service is found where it is; keys and secret are private; a second time is refused."""
    done = init(tmp_path, service.base_url)
    assert done.returncode == 0, done.stdout + done.stderr
    settings = load_settings(tmp_path / "shop.toml", environ={})
    store = settings.partner.store
    assert (store.id_pointer, store.timezone_pointer, store.menu_id_pointers) == ("/id", "/timezone", ("/menu_ids/*",))
    assert settings.partner.base_url == service.base_url
    for name in ("shop-keys.json", "shop-client-secret"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert "counted_statuses" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shop-client-secret", "shop-keys.json", "shop.toml"]
    again = init(tmp_path, service.base_url)
    assert (again.returncode, "exists" in again.stderr) == (2, True)


@pytest.mark.parametrize("body", [b'[{"id":' + b"[" * 100_000, b'[{"\xff":1}]', b"[1]", b"[{]"], ids=range(4))
def test_record_that_cannot_be_read_is_named(body: bytes) -> None:
    """Whatever the service's first record is, there is none then, and a sentence says why."""

    def handle(request: httpx.Request) -> httpx.Response:
        is_token = request.url.path.endswith("authenticate")
        content = b'{"access_token": "t", "expires_in": 3600}' if is_token else body
        return httpx.Response(200, stream=httpx.ByteStream(content))

    environ = {"ORDERMART_PARTNER__CLIENT_ID": "x", "ORDERMART_PARTNER__CLIENT_SECRET": "sandbox-secret"}
    record, why = first_record(load_settings(environ=environ), httpx.MockTransport(handle))
    assert record is None
    assert "page 1" in why or "first store record" in why or "no objects" in why


@pytest.mark.slow
def test_init_without_a_token_says_what_to_correct(service: Sandbox, tmp_path: Path) -> None:
    """Wrong credentials end with 3; the file is there to be corrected; the secret is not shown."""
    done = init(tmp_path, service.base_url, secret="wr0ng-one")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "could not be tried" in done.stdout
    assert "wr0ng-one" not in done.stdout + done.stderr
    assert load_settings(tmp_path / "shop.toml", environ={}).partner.base_url == service.base_url
