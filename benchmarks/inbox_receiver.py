"""Measure the webhook receiver: deliveries at a fixed rate, latency from each due time, no loss.

    python benchmarks/inbox_receiver.py [--rate 2000] [--seconds 60] [--connections 64] [--signature hmac_sha256]

Open loop: a due delivery is sent whether or not earlier ones were answered, and waiting for a free connection counts.
Receiver and generator share the machine's cores. Prints p50, p99 and maximum in milliseconds, and how many acknowledged
deliveries the inbox lacks.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import hashlib
import hmac
import os
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SERVE = "from pipelines.inbox.receiver import serve_webhooks; from pipelines.settings import load_settings; "
SECRET = "of-a-benchmark-alone"  # noqa: S105 -- signs nothing that anybody believes


class Sender(asyncio.Protocol):
    """One connection: sends a request, waits for its answer, takes the next that is due."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.due = 0.0
        self.id = 0
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.load.free.append(self)

    def send(self, due: float, id_: int) -> None:
        """Send the delivery with this id."""
        self.due, self.id = due, id_
        self.transport.write(self.load.request(id_))

    def data_received(self, data: bytes) -> None:
        """Note the latency of an answer, or its status."""
        self.received += data
        if not self.received.endswith(b"\r\n\r\n"):
            return
        status, self.received = self.received[9:12], b""
        self.load.answered(self, status == b"202")

    def connection_lost(self, _: Exception | None) -> None:
        """Count a delivery that never got its answer."""
        if self.id:
            self.load.answered(self, good=False)


class Load:
    """All connections and what they saw."""

    def __init__(self, port: int, signature: str) -> None:
        self.port, self.signature = port, signature
        self.free: deque[Sender] = deque()
        self.late: deque[tuple[float, int]] = deque()
        self.latencies: list[float] = []
        self.acknowledged: list[int] = []
        self.refused = 0

    def request(self, id_: int) -> bytes:
        """Return the bytes of one delivery."""
        body = b'{"topic":"orders.update","delivery_id":%d,"data":{"id":%d}}' % (id_, id_ % 100_000)
        signed = b""
        if self.signature == "hmac_sha256":
            signed = b"x-hub-signature-256: sha256=%s\r\n" % (
                hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest().encode()
            )
        return b"POST /webhooks HTTP/1.1\r\nhost: x\r\n%scontent-length: %d\r\n\r\n%s" % (signed, len(body), body)

    def answered(self, sender: Sender, good: bool) -> None:
        """Note an answer and give the connection what waits."""
        self.latencies.append(time.perf_counter() - sender.due)
        if good:
            self.acknowledged.append(sender.id)
        else:
            self.refused += 1
        sender.id = 0
        if self.late:
            sender.send(*self.late.popleft())
        else:
            self.free.append(sender)

    async def run(self, rate: int, seconds: float, connections: int) -> None:
        """Send at the rate; return when all is answered."""
        loop = asyncio.get_running_loop()
        for _ in range(connections):
            await loop.create_connection(lambda: Sender(self), "127.0.0.1", self.port)
        begin, total, sent = time.perf_counter() + 0.1, int(rate * seconds), 0
        while sent < total:
            until = min(total, int((time.perf_counter() - begin) * rate))
            while sent < until:
                sent += 1
                due = begin + sent / rate
                if self.free:
                    self.free.popleft().send(due, sent)
                else:
                    self.late.append((due, sent))
            await asyncio.sleep(0.0005)
        for _ in range(3_000):
            if len(self.latencies) == total:
                break
            await asyncio.sleep(0.01)


def main() -> None:
    """Start a receiver on an empty inbox, load it, compare what it acknowledged with what it holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--signature", choices=["none", "hmac_sha256"], default="none")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        file = Path(folder) / "ordermart.toml"
        file.write_text(
            f'[webhooks]\nport = {port}\nmax_per_second = 0\nsignature = "{given.signature}"\n',
            encoding="utf-8",
        )
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "ORDERMART_WEBHOOKS__SECRET": SECRET}
        receiver = subprocess.Popen(
            [sys.executable, "-c", f"{SERVE}serve_webhooks(load_settings({str(file)!r}))"],
            env=environment, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert receiver.stdout is not None
        assert receiver.stdout.readline().startswith("ready")
        load = Load(port, given.signature)
        gc.collect()
        gc.freeze()
        began = time.process_time()
        try:
            asyncio.run(load.run(given.rate, given.seconds, given.connections))
        finally:
            receiver.send_signal(signal.SIGTERM)
            receiver.wait()
            receiver.stdout.close()
        own, theirs = time.process_time() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        inbox = sqlite3.connect(file.parent / "data" / "inbox" / "worklist.sqlite")
        stored = {int(row[0]) for row in inbox.execute("select delivery_id from deliveries")}
        inbox.close()
        latencies = sorted(load.latencies)
        total = int(given.rate * given.seconds)

        def at(share: float) -> float:
            return 1000 * latencies[min(len(latencies) - 1, int(share * len(latencies)))]

        print(f"{given.rate}/s for {given.seconds:g} s, {given.connections} connections, signature {given.signature}")
        print(
            f"p50 {at(0.5):.2f} ms  p99 {at(0.99):.2f} ms  p99.9 {at(0.999):.2f} ms  max {latencies[-1] * 1000:.2f} ms"
        )
        print(f"sent {total}  acknowledged {len(load.acknowledged)}  refused {load.refused}")
        print(f"lost {len(set(load.acknowledged) - stored)}")
        print(
            f"CPU seconds: generator {own:.1f}, receiver {theirs.ru_utime + theirs.ru_stime:.1f}; "
            f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        )


if __name__ == "__main__":
    main()
