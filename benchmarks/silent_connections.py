"""Measure how long deliveries wait while silent connections are opened again and again.

    python benchmarks/silent_connections.py [--connections 6000] [--seconds 30]

On loopback alone, at most 10,000 connections for a minute. Prints p50, p99 and maximum of a delivery in milliseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[1]
SERVE = (
    "from pathlib import Path; from pipelines.inbox.receiver import serve_webhooks; "
    "from pipelines.settings import load_settings; import sys; serve_webhooks(load_settings(Path(sys.argv[1])))"
)


async def silent(port: int, ends: float) -> None:
    """Keep a connection open that says nothing, and open it again when it is closed."""
    while time.monotonic() < ends:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            async with asyncio.timeout(max(0, ends - time.monotonic())):
                await reader.read(1)
            writer.close()
        except (OSError, TimeoutError):
            await asyncio.sleep(0.01)


async def attack(port: int, connections: int, seconds: float) -> None:
    """Hold so many connections for so long."""
    ends = time.monotonic() + seconds
    await asyncio.gather(*(silent(port, ends) for _ in range(connections)))


def main() -> None:
    """Start a receiver and an attacker, deliver meanwhile, and print the waits."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--connections", type=int, default=6_000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--attack", type=int, default=0, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    connections, seconds = min(asked.connections, 10_000), min(asked.seconds, 60)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20_000) if hard > 0 else 20_000, hard))
    if asked.attack:
        asyncio.run(attack(asked.attack, connections, seconds))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ordermart.toml"
        file.write_text("[webhooks]\nport = 0\n", encoding="utf-8")
        receiver = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(file)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert receiver.stdout
        url = receiver.stdout.readline().split()[-1]
        port = url.split(":")[2].split("/")[0]
        options = ["--connections", str(connections), "--seconds", str(seconds)]
        attacker = subprocess.Popen([sys.executable, __file__, "--attack", port, *options])
        waits = []
        time.sleep(1)
        while attacker.poll() is None:
            began = time.monotonic()
            assert httpx.post(url, json={"topic": "orders.update", "id": 5}, timeout=60).status_code == 202
            waits.append((time.monotonic() - began) * 1000)
            time.sleep(0.02)
        receiver.terminate()
        receiver.wait(30)
    waits.sort()
    p50, p99 = (waits[int(len(waits) * share)] for share in (0.5, 0.99))
    sys.stdout.write(f"{len(waits)} deliveries: p50 {p50:.0f} ms, p99 {p99:.0f} ms, maximum {waits[-1]:.0f} ms\n")


if __name__ == "__main__":
    main()
