"""The receiver killed under load, again and again: every delivery that was acknowledged is there."""

from __future__ import annotations

import random
import signal
import sqlite3
import threading
import time
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def send(url: str, numbers: Iterator[int], acknowledged: set[int]) -> None:
    """Send deliveries one after another until the receiver is gone; remember the acknowledged ones."""
    with httpx.Client(timeout=10) as client:
        while True:
            number = next(numbers)
            body = {"topic": "orders.update", "delivery_id": number, "data": {"id": number % 1000}}
            try:
                if client.post(url, json=body).status_code == 202:
                    acknowledged.add(number)
            except httpx.TransportError:
                return


@pytest.mark.slow
@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_nothing_acknowledged_is_lost(start: Callable[..., Any], kills: int) -> None:
    """After SIGKILLs at random moments under load the inbox is whole and holds every acknowledged delivery."""
    numbers = count(1)
    acknowledged: set[int] = set()
    chance = random.Random(7)
    inbox = None
    for _ in range(kills):
        before = len(acknowledged)
        running = start()
        inbox = running.inbox
        threads = [threading.Thread(target=send, args=(running.url, numbers, acknowledged)) for _ in range(8)]
        for thread in threads:
            thread.start()
        while len(acknowledged) == before and any(thread.is_alive() for thread in threads):
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.5))
        assert running.end(signal.SIGKILL) == -signal.SIGKILL
        for thread in threads:
            thread.join()
        assert len(acknowledged) > before
    assert inbox is not None
    with closing(sqlite3.connect(inbox)) as connection:
        stored = {int(row[0]) for row in connection.execute("select delivery_id from deliveries")}
        entries = {row[0] for row in connection.execute("select id from entries where state = 'waiting'")}
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    assert acknowledged - stored == set()
    assert {number % 1000 for number in stored} == entries
