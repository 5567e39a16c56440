"""The guard before Dagster's pages: what another site in a browser could send never reaches them."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import uvicorn

from pipelines.assets.pages import Guard, served_hosts

if TYPE_CHECKING:
    from pathlib import Path

HOME = "http://127.0.0.1:3000"
JSON = {"Content-Type": "application/json"}
MUTATION = '{"query": "mutation { terminateRuns(runIds: []) { __typename } }"}'


async def _pages(scope: Any, _receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"Dagster"})
    else:
        await send({"type": "websocket.accept"})


GUARD = Guard(_pages, served_hosts("127.0.0.1", 3000, ["orders.example.org"]))


def status(method: str, path: str, **options: Any) -> int:
    """Return the status of one request that goes through the guard."""

    async def ask() -> int:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(GUARD), base_url=HOME) as client:  # type: ignore[arg-type]
            return (await client.request(method, path, **options)).status_code

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("method", "path", "options"),
    [
        ("GET", "/graphql?query=mutation{terminateRuns(runIds:[]){__typename}}", {}),
        ("GET", "/graphql/?query={__typename}", {}),
        ("POST", "/graphql?query=mutation{x}", {"headers": JSON}),
        ("POST", "/graphql", {"content": MUTATION, "headers": {"Content-Type": "text/plain"}}),
        ("POST", "/graphql", {"content": MUTATION, "headers": {"Content-Type": "application/graphql"}}),
        ("POST", "/graphql", {"content": MUTATION, "headers": JSON | {"Origin": "http://evil.example"}}),
        ("POST", "/graphql", {"content": MUTATION, "headers": JSON | {"Origin": "null"}}),
        ("POST", "/graphql", {"content": MUTATION, "headers": JSON | {"Origin": HOME.replace("http:", "https:")}}),
        ("POST", "/graphql", {"content": MUTATION, "headers": JSON | {"Origin": "https://localhost:3000"}}),
        ("POST", "/graphql", {"content": MUTATION, "headers": JSON | {"Origin": "ftp://127.0.0.1:3000"}}),
        ("POST", "/graphql", {"content": MUTATION, "headers": JSON | {"Origin": "http://[evil"}}),
        ("POST", "/graphql", {"content": MUTATION, "headers": JSON | {"Host": "evil.example:3000"}}),
        ("GET", "/", {"headers": {"Host": "evil.example"}}),
        ("POST", "/report_asset_materialization/core/orders", {}),
        ("GET", "/report_asset_check/core/orders", {}),
        ("POST", "/runs", {}),
        ("DELETE", "/graphql", {}),
    ],
)
def test_guard_refuses_what_another_page_could_send(method: str, path: str, options: Any) -> None:
    """Mutations by GET, foreign origins and hosts, simple cross-origin posts and reports are refused."""
    assert status(method, path, **options) == 403


@pytest.mark.parametrize(
    ("method", "path", "options"),
    [
        ("GET", "/", {}),
        ("GET", "/runs/1", {"headers": {"Origin": HOME}}),
        ("GET", "/graphql", {"headers": {"Accept": "text/html"}}),
        ("POST", "/graphql", {"content": MUTATION, "headers": JSON}),
        ("POST", "/graphql", {"content": MUTATION, "headers": JSON | {"Origin": HOME}}),
        ("POST", "/graphql", {"content": MUTATION, "headers": {"Content-Type": "application/json; charset=utf-8"}}),
        ("GET", "/", {"headers": {"Host": "localhost:3000"}}),
        ("GET", "/", {"headers": {"Host": "orders.example.org", "Origin": "https://orders.example.org"}}),
    ],
)
def test_guard_passes_what_the_pages_send_themselves(method: str, path: str, options: Any) -> None:
    """The pages' own requests, local programs and allowed hosts reach Dagster."""
    assert status(method, path, **options) == 200


@pytest.mark.parametrize(("origin", "accepted"), [(HOME, True), ("http://evil.example", False), ("", True)])
def test_guard_checks_the_origin_of_websockets(origin: str, accepted: bool) -> None:
    """A websocket that another page opened is closed before Dagster sees it."""
    sent: list[str] = []

    async def receive() -> dict[str, str]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    headers = [(b"host", b"127.0.0.1:3000")] + ([(b"origin", origin.encode())] if origin else [])
    scope = {"type": "websocket", "path": "/graphql", "headers": headers, "query_string": b""}
    asyncio.run(GUARD(scope, receive, send))
    assert sent == ["websocket.accept" if accepted else "websocket.close"]


@pytest.mark.parametrize("path", ["/", "/graphql?query=x"])
def test_no_page_of_another_site_frames_an_answer(path: str) -> None:
    """Pages and refusals alike say so to browsers, old ones included."""

    async def ask() -> httpx.Headers:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(GUARD), base_url=HOME) as client:  # type: ignore[arg-type]
            return (await client.get(path)).headers

    headers = asyncio.run(ask())
    assert headers["x-frame-options"] == "DENY"
    assert headers["content-security-policy"] == "frame-ancestors 'none'"


@pytest.mark.slow
@pytest.mark.parametrize("is_guarded", [True, False])
def test_framed_page_shows_nothing(is_guarded: bool, tmp_path: Path) -> None:
    """In chromium a page of another origin frames the pages: they run only if nothing guards them."""
    if not shutil.which("chromium"):
        pytest.skip("there is no chromium")
    said: list[str] = []

    async def pages(scope: Any, _receive: Any, send: Any) -> None:
        said.append(scope["path"])
        script = b"<script>fetch('/ran')</script>" if scope["path"] == "/framed" else b""
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": script})

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        app = Guard(pages, served_hosts("127.0.0.1", port, [])) if is_guarded else pages
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))  # type: ignore[arg-type]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        outer = tmp_path / "outer.html"
        outer.write_text(f'<iframe src="http://127.0.0.1:{port}/framed"></iframe>', encoding="utf-8")
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
        command = ["chromium", *flags, "--virtual-time-budget=3000", "--dump-dom", outer.as_uri()]
        subprocess.run(command, capture_output=True, check=True, timeout=120)
        server.should_exit = True
        thread.join(10)
    assert "/framed" in said  # it was asked for
    assert ("/ran" in said) is not is_guarded
