"""Serve Dagster's own pages behind a guard: `python -m pipelines.assets.pages HOST PORT launch|look [ALLOWED_HOST …]`.

Started by `ordermart dev`. Uses the application that `dagster-webserver` itself serves. Dagster 1.13 serves its pages
without authentication, executes mutations that come by GET, and knows no Host, Origin or CSRF setting: any page open in
a browser on the same machine could stop runs. The guard refuses requests for a host that is not ours (DNS rebinding),
requests and websockets that another origin sent, GraphQL that is not JSON sent by POST (a browser asks the server's
leave before it sends that across origins), and the endpoints that take reports. No page of another site may show them
in a frame, in which a click could be stolen.

It protects against other sites in a browser, not against users of the machine: see docs/deploy for authentication.
"""

import os
import sys
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pipelines.assets.dev import WORKSPACE
from pipelines.settings.contradictions import is_loopback

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_READ = {"GET", "HEAD", "OPTIONS"}
_REPORTS = "/report_asset_"
_UNFRAMED = [(b"x-frame-options", b"DENY"), (b"content-security-policy", b"frame-ancestors 'none'")]
_POLICY_VIOLATION = 1008  # RFC 6455, section 7.4.1


class Guard:
    """An ASGI application that lets through what a page served by itself, or a local program, would send.

    `hosts` are the values of the Host header by which the pages are reached, such as `127.0.0.1:3000`.
    """

    def __init__(self, pages: Application, hosts: Iterable[str]) -> None:
        self._pages = pages
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a refusal, or let Dagster answer."""
        reason = self._refusal(scope) if scope["type"] in {"http", "websocket"} else ""

        async def unframed(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_UNFRAMED]
            await send(message)

        if not reason:
            await self._pages(scope, receive, unframed)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": reason})
        else:
            body = f"{reason}\n".encode()
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))]
            await unframed({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    def _is_own(self, origin: str) -> bool:
        """Tell whether an Origin header is of these pages: a proxy may add TLS, but not on this machine's own names."""
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        is_scheme = parts.scheme == "http" or (parts.scheme == "https" and not is_loopback(parts.hostname or ""))
        return is_scheme and parts.netloc.lower() in self._hosts

    def _refusal(self, scope: Scope) -> str:
        """Return why a request is refused; "" if it is not."""
        headers = [(name.lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value.lower() for name, value in headers if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return "This Host is not served here; list it in [dagster] allowed_hosts."
        for origin in (value for name, value in headers if name == b"origin"):
            if not self._is_own(origin):
                return "Requests from another origin are refused."
        if scope["type"] == "websocket":
            return ""
        path, method = scope["path"], scope["method"]
        if path.startswith(_REPORTS):
            return "Reports about assets are not taken over HTTP."
        if path.rstrip("/") != "/graphql":
            return "" if method in _READ else "Only GraphQL takes anything but GET."
        return _graphql_refusal(method, scope["query_string"].decode("latin-1"), dict(headers))


def _graphql_refusal(method: str, query_string: str, headers: dict[bytes, str]) -> str:
    if parse_qs(query_string, keep_blank_values=True).keys() & {"query", "variables", "operationName"}:
        return "GraphQL in an address is refused; send it as JSON by POST."
    if method not in _READ and headers.get(b"content-type", "").partition(";")[0].strip() != "application/json":
        return "GraphQL is taken as application/json only."
    return ""


def served_hosts(host: str, port: int, allowed: Iterable[str]) -> list[str]:
    """Return the Host headers by which pages on `host` and `port` are reached, and those a setting allows besides."""
    names = {host, "localhost", "127.0.0.1", "[::1]"}
    served = (f"[{name}]:{port}" if ":" in name and "[" not in name else f"{name}:{port}" for name in sorted(names))
    return [*served, *allowed]


_SHUTDOWN_SECONDS = 3  # for requests under way; open websockets are cut


def serve(host: str, port: int, mode: str, allowed: list[str]) -> None:
    """Serve the pages until SIGTERM or SIGINT; in mode `look` nothing can be launched or switched."""
    # Dagster's web server looks for a free port when it is imported.
    import uvicorn  # noqa: PLC0415
    from dagster import DagsterInstance  # noqa: PLC0415
    from dagster._core.workspace.context import WorkspaceProcessContext  # noqa: PLC0415
    from dagster._core.workspace.load_target import WorkspaceFileTarget  # noqa: PLC0415
    from dagster_webserver.app import create_app_from_workspace_process_context  # noqa: PLC0415
    from dagster_webserver.version import __version__  # noqa: PLC0415

    code, looks = WorkspaceFileTarget([str(Path(os.environ["DAGSTER_HOME"]) / WORKSPACE)]), mode == "look"
    with (
        DagsterInstance.get() as instance,
        WorkspaceProcessContext(instance, workspace_load_target=code, version=__version__, read_only=looks) as context,
    ):
        instance.optimize_for_webserver(statement_timeout=15_000, pool_recycle=3600, max_overflow=20)
        pages = create_app_from_workspace_process_context(context)
        guard, patience = Guard(pages, served_hosts(host, port, allowed)), _SHUTDOWN_SECONDS
        uvicorn.run(guard, host=host, port=port, log_level="warning", timeout_graceful_shutdown=patience)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:])
