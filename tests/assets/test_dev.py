"""The receiver that `ordermart dev --webhooks` starts: it is there while Dagster's pages are, and no longer."""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING

import httpx
import pytest

from pipelines.assets.home import running_receiver
from pipelines.inbox.worklist import WorkList

if TYPE_CHECKING:
    from pathlib import Path


def test_the_receiver_lives_as_long_as_the_pages(tmp_path: Path) -> None:
    """Inside the block a delivery is taken and stands on the work list; after it nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {"ORDERMART_DATA__DIR": str(tmp_path / "data"), "ORDERMART_WEBHOOKS__PORT": str(port)}
    url = f"http://127.0.0.1:{port}/webhooks"
    with running_receiver({**os.environ, **environ}):
        deadline = time.monotonic() + 60
        while True:
            try:
                answer = httpx.post(url, json={"topic": "orders.update", "data": {"id": 7}})
                break
            except httpx.ConnectError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        assert answer.is_success
    with pytest.raises(httpx.ConnectError):
        httpx.post(url, json={})
    with WorkList(tmp_path / "data" / "inbox" / "worklist.sqlite") as work:
        assert work.due("orders") == [7]
