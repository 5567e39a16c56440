"""Serve the webhook receiver: `ordermart webhooks serve`, a process of its own.

Assembles, starts and stops the parts. Several receivers may write to the same inbox.
"""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import sys
import time
from typing import TYPE_CHECKING

from granian.http import HTTP1Settings

from pipelines.durable import keep_private
from pipelines.inbox.app import Receiver, make_app
from pipelines.inbox.bodies import Bodies
from pipelines.inbox.committer import Committer
from pipelines.inbox.idle import FEWEST_OF_AN_ADDRESS, MOST_OF_AN_ADDRESS, IdleConnections
from pipelines.inbox.notifications import Decoder
from pipelines.inbox.signatures import verifier
from pipelines.inbox.store import inbox_path
from pipelines.listening import ListenError, claimed, serve_until_stopped
from pipelines.settings import SettingsError
from pipelines.settings.contradictions import unsigned
from pipelines.vault import VaultError, open_vault

if TYPE_CHECKING:
    from pipelines.settings import Settings
    from pipelines.vault import Vault

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
