"""nginx itself reads docs/deploy/nginx.conf and does what it says, where nginx is installed."""

from __future__ import annotations

import datetime as dt
import shutil
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
pytestmark = [
    pytest.mark.nginx,
    pytest.mark.skipif(not NGINX, reason="nginx is not installed: docs/deploy/nginx.conf is not run"),
]
HOST = "orders.example.org"


class Backend(BaseHTTPRequestHandler):
    """Stands in the place of the pages and the receiver; answers with the headers that it got."""

    def do_GET(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = "\n".join(f"{name.lower()}: {value}" for name, value in self.headers.items()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 -- the name is http.server's

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def certificate(folder: Path) -> None:
    """Write a certificate that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = dt.datetime.now(dt.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "fullchain.pem").write_bytes(signed.public_bytes(pem))
    plain = serialization.NoEncryption()
    (folder / "privkey.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))


@pytest.fixture(scope="module")
def config(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a whole configuration around the example, with the files that it names."""
    folder = tmp_path_factory.mktemp("nginx")
    certificate(folder)
    (folder / "ordermart.htpasswd").write_text("kim:{PLAIN}open sesame\n", encoding="ascii")
    text = (project / "docs" / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    text = text.replace("/etc/nginx/", f"{folder}/").replace(f"/etc/letsencrypt/live/{HOST}/", f"{folder}/")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    whole = folder / "nginx.conf"
    whole.write_text(
        f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}\n{text}\n}}\n",
        encoding="utf-8",
    )
    return whole


def test_nginx_accepts_the_example(config: Path) -> None:
    """`nginx -t` has nothing to say of it, and does of a planted fault."""
    command = [str(NGINX), "-t", "-q", "-p", str(config.parent), "-c"]
    done = subprocess.run([*command, str(config)], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, "[warn]" in done.stderr) == (0, False), done.stderr
    broken = config.with_name("broken.conf")
    broken.write_text(config.read_text("utf-8").replace("auth_basic_user_file", "auth_basic_users"), encoding="utf-8")
    assert subprocess.run([*command, str(broken)], capture_output=True, check=False, timeout=60).returncode != 0


@pytest.fixture(scope="module")
def url(config: Path) -> Iterator[str]:
    """Run it before a program that answers for both services; give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Backend)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = config.read_text("utf-8").replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
    for service in ("127.0.0.1:3000", "127.0.0.1:8610"):
        assert service in text
        text = text.replace(service, f"127.0.0.1:{server.server_address[1]}")
    running = config.with_name("running.conf")
    running.write_text(text, encoding="utf-8")
    nginx = subprocess.Popen([str(NGINX), "-p", str(config.parent), "-c", str(running)], stderr=subprocess.PIPE)
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=60).close()
                break
            except ConnectionRefusedError:
                assert nginx.poll() is None, nginx.stderr and nginx.stderr.read()
                time.sleep(0.05)
        yield f"https://127.0.0.1:{port}"
    finally:
        nginx.terminate()
        nginx.communicate(timeout=60)
        server.shutdown()
        server.server_close()


def test_pages_need_the_password_and_webhooks_do_not(url: str) -> None:
    """Without it no page is reached; with it, Dagster gets the host and no password; webhooks name their sender."""
    with httpx.Client(verify=False, headers={"Host": HOST}, timeout=60) as client:  # noqa: S501 -- signed by itself
        for path in ("/", "/graphql", "/webhooks/../graphql", "/webhooks/x", "/report_runless"):
            assert (refused := client.get(url + path)).status_code == 401, path
            assert refused.headers["x-frame-options"] == "DENY"
            assert refused.headers["content-security-policy"] == "frame-ancestors 'none'"
            assert client.get(url + path, auth=("kim", "wrong")).status_code == 401, path
        page = client.get(url + "/graphql", auth=("kim", "open sesame"))
        assert page.status_code == 200
        assert f"host: {HOST}" in page.text.splitlines()
        assert "authorization" not in page.text
        webhook = client.post(url + "/webhooks", content=b"{}", headers={"X-Real-IP": "203.0.113.9"})
        assert webhook.status_code == 200
        assert "x-real-ip: 127.0.0.1" in webhook.text.splitlines()
        assert "203.0.113.9" not in webhook.text
        assert client.post(url + "/webhooks", content=b"x" * (1_048_576 + 1)).status_code == 413
        assert client.post(url + "/webhooks", content=b"x" * 1_048_576).status_code == 200
