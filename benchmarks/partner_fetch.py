"""Measure the speed of fetch_all against a bare aiohttp loop, with the same server, in the same run.

    python benchmarks/partner_fetch.py [--ids 10000] [--in-flight 16] [--bytes 1500] [--rounds 3]

The server is another process that returns the same bytes to every request, so that the client's work dominates.
Rounds alternate; the best of each is compared.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import resource
import time
from typing import TYPE_CHECKING

import aiohttp
import msgspec

from pipelines.partner.client import PartnerClient, fetch_all
from pipelines.settings import Secret, load_settings

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from pipelines.settings import Partner

TOKEN = b'{"access_token": "benchmark", "expires_in": 3600}'
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"


class _Says(asyncio.Protocol):
    """Answers each request on a kept connection with the same body."""

    def __init__(self, body: bytes) -> None:
        self._answer = HEAD % (len(body), body)
        self._pending = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._pending += data
        while (end := self._pending.find(b"\r\n\r\n")) >= 0:
            head, self._pending = self._pending[:end], self._pending[end + 4 :]
            assert isinstance(self._transport, asyncio.Transport)
            if head.startswith(b"POST"):
                self._pending = b""  # the credentials, sent with their head
                self._transport.write(HEAD % (len(TOKEN), TOKEN))
            else:
                self._transport.write(self._answer)


def _serve(ready: Connection, size: int) -> None:
    body = msgspec.json.encode({"id": 1, "dispatch_note": "x" * (size - 29)})

    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(lambda: _Says(body), "127.0.0.1", 0)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


async def ours(partner: Partner, ids: int) -> None:
    """Fetch `ids` orders by fetch_all."""
    async with PartnerClient(partner) as client:
        count = 0
        async for answer in fetch_all(client, "orders", range(ids)):
            assert not answer.code
            count += 1
        assert count == ids


async def bare(partner: Partner, ids: int) -> None:
    """Fetch `ids` orders by as many aiohttp loops as may be in flight, with nothing around them."""
    waiting = iter(range(ids))
    headers = {"Authorization": "Bearer benchmark"}
    connector = aiohttp.TCPConnector(limit=partner.max_concurrency)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def loop() -> None:
            for id_ in waiting:
                path = partner.order.path.replace("{id}", str(id_))
                async with session.get(partner.base_url + path, headers=headers) as response:
                    await response.read()

        await asyncio.gather(*(loop() for _ in range(partner.max_concurrency)))


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--ids", type=int, default=10_000)
    arguments.add_argument("--in-flight", type=int, default=16)
    arguments.add_argument("--bytes", type=int, default=1_500)
    arguments.add_argument("--rounds", type=int, default=3)
    chosen = arguments.parse_args()
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(there, chosen.bytes), daemon=True)
    server.start()
    partner = msgspec.structs.replace(
        load_settings(environ={}).partner,
        base_url=f"http://127.0.0.1:{here.recv()}",
        max_concurrency=chosen.in_flight,
        client_id=Secret("benchmark"),
        client_secret=Secret("benchmark"),
    )
    best: dict[str, tuple[float, float]] = {}
    for _ in range(chosen.rounds):
        for name, way in (("bare aiohttp", bare), ("fetch_all", ours)):
            began, cpu = time.perf_counter(), time.process_time()
            asyncio.run(way(partner, chosen.ids))
            took = (time.perf_counter() - began, time.process_time() - cpu)
            best[name] = min(best.get(name, took), took)
    server.kill()
    server.join()
    print(f"{chosen.ids:,} requests of {chosen.bytes:,} bytes, {chosen.in_flight} in flight, best of {chosen.rounds}")
    for name, (seconds, cpu) in best.items():
        print(f"{name:14} {chosen.ids / seconds:8,.0f} requests/s {cpu / chosen.ids * 1e6:8,.0f} µs of CPU a request")
    (bare_seconds, _), (our_seconds, _) = best["bare aiohttp"], best["fetch_all"]
    print(f"ratio of requests/s, fetch_all to bare aiohttp: {bare_seconds / our_seconds:.2f}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
