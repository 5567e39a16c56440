"""Stand between a client and a service on loopback, and change the service's answers: a stranger's habits."""

from __future__ import annotations

import http.server
import json
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    # (path with query, status, decoded body) to (status, body), and further headers; a function of the handler answers
    # by itself, on a connection that is then closed
    Change = Callable[[str, int, Any], tuple[int, Any] | tuple[int, Any, dict[str, str]]]


@contextmanager
def rewriting(base_url: str, change: Change) -> Iterator[str]:
    """Serve what `base_url` answers, changed; give the address. JSON bodies are decoded, others given as bytes."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._pass_on(None)

        def do_POST(self) -> None:
            self._pass_on(self.rfile.read(int(self.headers.get("content-length") or 0)))

        def _pass_on(self, body: bytes | None) -> None:
            names = ("authorization", "content-type", "accept")
            headers = {name: value for name, value in self.headers.items() if name.lower() in names}
            request = urllib.request.Request(base_url + self.path, body, headers)  # noqa: S310 -- loopback
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 -- loopback
                    status, found = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                status, found = error.code, error.read()
            try:
                decoded = json.loads(found)
            except ValueError:
                decoded = found
            status, decoded, *more = change(self.path, status, decoded)
            if callable(decoded):
                decoded(self)
                self.close_connection = True
                return
            sent = decoded if isinstance(decoded, bytes) else json.dumps(decoded).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(sent)))
            for name, value in (more[0] if more else {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
