"""Serve the webhook receiver: `ordermart webhooks serve`, a process of its own.

Assembles, starts and stops the parts. Several receivers may write to the same inbox.

Bodies that nobody could verify or read are kept encrypted, up to a limit. Of a sender that opens many connections and
says nothing, the longest idle are closed first.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
import sqlite3
import stat
import struct
import sys
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from granian.http import HTTP1Settings

from pipelines.clock import utc_now
from pipelines.durable import keep_private
from pipelines.inbox.app import Receiver, make_app
from pipelines.inbox.committer import Committer
from pipelines.inbox.notifications import Decoder, verifier
from pipelines.inbox.store import inbox_path
from pipelines.listening import ListenError, claimed, serve_until_stopped
from pipelines.settings import SettingsError
from pipelines.settings.contradictions import unsigned
from pipelines.vault import VaultError, open_vault
from pipelines.vault.bodies import ROW_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.settings import Settings
    from pipelines.vault import Vault


_KIND = "webhooks"
_SOME = 10  # at least so many percent are freed at once, so that not every delivery frees a little


class Kept(NamedTuple):
    """References to the bodies that were kept, and to older ones that had to make room for them."""

    refs: Sequence[str]
    removed: Sequence[str]


class Bodies:
    """The bodies of undecodable deliveries in a vault, at most `most` bytes of them."""

    def __init__(self, vault: Vault, most: int) -> None:
        self._vault, self._most = vault, most
        self._bytes = vault.refused.stored_bytes(_KIND)
        self._uncounted = 0

    def keep(self, bodies: Sequence[bytes]) -> Kept:
        """Encrypt bodies, durably; together they are not more than the limit."""
        size = sum(len(body) + ROW_BYTES for body in bodies)
        removed = self._make_room(size)
        refs = self._vault.refused.encrypt(_KIND, _KIND, ((None, body) for body in bodies), utc_now())
        self._vault.sync()
        self._bytes += size
        self._uncounted += size
        return Kept(refs, removed)

    def _make_room(self, size: int) -> list[str]:
        if self._uncounted > self._most // _SOME:  # another receiver stores here, and maintenance removes
            self._bytes, self._uncounted = self._vault.refused.stored_bytes(_KIND), 0
        if self._bytes + size <= self._most:
            return []
        wanted = min(self._most, size + self._most // _SOME)
        removed = self._vault.refused.forget_oldest(_KIND, leave=self._most - wanted)
        self._bytes, self._uncounted = self._vault.refused.stored_bytes(_KIND), 0
        sys.stderr.write(
            f"{len(removed):,} bodies of undecodable deliveries, the oldest, were removed from the vault: "
            "[webhooks] max_stored_bytes; the deliveries stay listed\n"
        )
        sys.stderr.flush()
        return removed


MOST_OF_AN_ADDRESS = 128
FEWEST_OF_AN_ADDRESS = 16  # a proxy has all deliveries come from its own
_IDLE_MS = 100  # since the last byte came, if everything was answered
_UNANSWERED_MS = 1_000  # if not: half a request, or a delivery that is being committed
_LOOK_SECONDS = 0.05
_LAST_SENT, _LAST_RECEIVED = 44, 52  # bytes before tcpi_last_data_sent and _recv in struct tcp_info of linux/tcp.h


class IdleConnections:
    """A thread that closes idle connections beyond `most` of an address; `port` is the one that is served.

    The server accepts no more than it has room for, so silent connections would make deliveries wait. The kernel tells
    who is connected and for how long nothing came; where it does not, anywhere but on Linux, nothing is closed.
    """

    def __init__(self, port: int, most: int = MOST_OF_AN_ADDRESS) -> None:
        self._port, self._most = port, most
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="idle connections", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        if sys.platform == "linux":
            self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            descriptors = [int(each.name) for each in Path("/proc/self/fd").iterdir()]
            if len(descriptors) > self._most:
                self._close(descriptors)

    def _close(self, descriptors: list[int]) -> None:
        idle: defaultdict[str, list[tuple[int, socket.socket]]] = defaultdict(list)
        open_of: Counter[str] = Counter()
        with contextlib.ExitStack() as copies:
            for each in descriptors:
                with contextlib.suppress(OSError):
                    if not stat.S_ISSOCK(os.fstat(each).st_mode):
                        continue
                    copy = copies.enter_context(socket.socket(fileno=os.dup(each)))
                    if copy.family != socket.AF_UNIX and copy.getsockname()[1] == self._port:
                        open_of[copy.getpeername()[0]] += 1
                        if ms := _idle_ms(copy):
                            idle[copy.getpeername()[0]].append((ms, copy))
            for address, connections in idle.items():
                connections.sort(key=lambda each: each[0], reverse=True)
                for _, copy in connections[: max(0, open_of[address] - self._most)]:
                    with contextlib.suppress(OSError):
                        copy.shutdown(socket.SHUT_RDWR)


def _idle_ms(connection: socket.socket) -> int:
    """Return for how many milliseconds nothing came; 0 if something may still be answered."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_RECEIVED + 4)
    sent, received = (int(struct.unpack_from("I", info, at)[0]) for at in (_LAST_SENT, _LAST_RECEIVED))
    return received if received >= (_IDLE_MS if sent <= received else _UNANSWERED_MS) else 0


_SHUTDOWN_SECONDS = 2.0  # for open connections
_WARNING_SECONDS = 10.0


class ReceiverError(Exception):
    """The receiver cannot start; the message says why."""


def serve_webhooks(settings: Settings, host: str | None = None, port: int | None = None) -> None:
    """Receive deliveries until SIGTERM or SIGINT; print one line when ready.

    Undecodable bodies are encrypted in the vault if its keys are set, else dropped; the delivery is stored either way.
    Raise SettingsError for a signature without a usable secret, and for an address that others can reach without a
    signature, ReceiverError if the address is in use or the inbox cannot be written.
    """
    webhooks = settings.webhooks
    host, port = host or webhooks.host, webhooks.port if port is None else port
    if complaint := unsigned(settings, host):
        raise SettingsError(complaint)
    verify = verifier(webhooks)
    keep_private(settings.data_dir)
    try:
        port = claimed(host, port)
    except ListenError as error:
        raise ReceiverError(str(error)) from None
    vault = _vault(settings)
    encrypt = None if vault is None else Bodies(vault, webhooks.max_stored_bytes).keep
    committer = Committer(inbox_path(settings.data_dir), encrypt=encrypt, failed=_Warnings())
    receiver = Receiver(webhooks, Decoder(webhooks), verify, committer.put, keeps_bodies=encrypt is not None)
    try:
        committer.start(receiver.settled)
    except (OSError, sqlite3.Error) as error:
        raise ReceiverError(f"the inbox cannot be written: {error}") from None
    _allow_connections(2 * webhooks.queue_size)
    idle = IdleConnections(port, min(MOST_OF_AN_ADDRESS, max(FEWEST_OF_AN_ADDRESS, webhooks.queue_size // 4)))
    idle.start()
    try:
        asyncio.run(
            serve_until_stopped(
                make_app(receiver, webhooks.path),
                host,
                port,
                webhooks.path,
                patience_seconds=_SHUTDOWN_SECONDS,
                http1_settings=HTTP1Settings(header_read_timeout=int(webhooks.read_timeout_seconds * 1000)),
                backpressure=2 * webhooks.queue_size,  # more than may wait, so that the excess is answered with 503
            )
        )
    finally:
        idle.stop()
        committer.stop()
        if vault is not None:
            vault.close()


def _vault(settings: Settings) -> Vault | None:
    """Open the vault if its keys are set; without them no body is kept."""
    try:
        return open_vault(settings)
    except VaultError:
        return None


def _allow_connections(number: int) -> None:
    """Raise the limit of open files to the size of the queue."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = number + 256
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Warnings:
    """Prints on standard error why deliveries could not be committed, at most every ten seconds."""

    def __init__(self) -> None:
        self._last = -_WARNING_SECONDS

    def __call__(self, reason: str) -> None:
        now = time.monotonic()
        if now - self._last >= _WARNING_SECONDS:
            self._last = now
            sys.stderr.write(f"deliveries could not be committed and were answered with 503: {reason}\n")
            sys.stderr.flush()
