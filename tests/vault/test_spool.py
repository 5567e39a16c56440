"""The spool gives back what a killed run had received, up to the first record that is not whole."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipelines.vault import FetchedBody, Spool

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.vault import Keys

NOW = dt.datetime(2026, 10, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(("fault", "kept"), [("none", 3), ("altered", 2), ("cut", 2)])
def test_a_bad_record_costs_what_follows_it_alone(tmp_path: Path, keys: Keys, fault: str, kept: int) -> None:
    """Three answers, of which the last is as written, has another bit, or lacks its last byte."""
    answers = [FetchedBody(number, NOW, 200, b"body") for number in (1, 2, 3)]
    path = tmp_path / "spool-orders"
    with Spool(path, AESGCM(keys.master)) as spool:
        spool.begin("load", answers)
    written = bytearray(path.read_bytes())
    if fault == "altered":
        written[-1] ^= 1
    path.write_bytes(written[:-1] if fault == "cut" else written)
    with Spool(path, AESGCM(keys.master)) as spool:
        left = spool.left()
    assert left is not None
    assert (left.load_id, left.answers) == ("load", answers[:kept])
