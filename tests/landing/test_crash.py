"""A load or a merge that is killed at any rename leaves what was before, or all of it; the next one mends the rest."""

from __future__ import annotations

import datetime as dt
import json
import resource
import secrets
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.landing.load import Load
from pipelines.landing.merge import merge_days
from pipelines.landing.raw_folder import raw_files
from pipelines.vault import open_vault

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.landing.raw_rows import LoadSummary
    from pipelines.settings import Settings
    from pipelines.vault import Vault

ROOT = Path(__file__).resolve().parents[2]
KILLED = 9
# The child dies just before (or after) its n-th event of a kind, as the kernel would kill it: nothing is flushed.
CHILD = """
import datetime as dt, os, sys
from pathlib import Path
seen = 0
def die(event, args):
    global seen
    if event == sys.argv[1] and str(args[0]).endswith(sys.argv[2]):
        seen += 1
        if seen == int(sys.argv[3]):
            os._exit(9)
from pipelines.landing.load import Load
from pipelines.landing.merge import merge_days
from pipelines.settings import load_settings
from pipelines.vault import open_vault
settings = load_settings(Path(sys.argv[4]), environ={"ORDERMART_VAULT__KEY_FILE": sys.argv[5]})
import pandas  # pyarrow would look for it in the middle
sys.addaudithook(die)
if sys.argv[6] == "merge":
    merge_days(settings.data_dir, "orders", dt.date(9999, 1, 1))
else:
    with open_vault(settings) as vault, Load(settings, vault, "orders") as load:
        for number in range(1, 1501):
            load.validate(b'{"id":%d,"status":"new","user_name":"Ann"}' % number)
        load.commit()
"""


def _run(settings: Settings, event: str, suffix: str, at: int, what: str) -> int:
    arguments = [event, suffix, str(at), str(settings.file), settings.vault.key_file, what]
    return subprocess.run([sys.executable, "-c", CHILD, *arguments], cwd=ROOT, check=False).returncode


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "suffix", "at"),
    [
        ("open", ".parquet.tmp", 1),
        ("os.rename", ".parquet.tmp", 1),
        ("os.rename", ".parquet.tmp", 2),
        ("open", "/orders", 2),
    ],
)
def test_a_killed_load_is_there_or_not(
    settings: Settings,
    land: Callable[..., LoadSummary],
    raw: Callable[[str, str], list[dict[str, Any]]],
    vault: Vault,
    event: str,
    suffix: str,
    at: int,
) -> None:
    """Killed before a rename the load never was, in files, vault and index; after the last, the index catches up."""
    land("orders", {"id": 1, "status": "old", "user_name": "Old"})
    before = raw("observations", "orders")
    assert _run(settings, event, suffix, at, "load") == KILLED
    is_there = event == "open" and suffix == "/orders"
    assert len(raw("observations", "orders")) == len(before) + (1500 if is_there else 0)
    with Load(settings, vault, "orders") as load:
        load.validate(b'{"id":2,"status":"new","user_name":"Ann"}')
        summary = load.commit()
    assert summary.counts["unchanged" if is_there else "accepted"] == 1
    assert vault.decrypt("orders", 1)["/user_name"] == ("Ann" if is_there else "Old")
    assert vault.open_loads("orders") == []
    assert len(raw("documents", "orders")) == (1501 if is_there else 2)
    assert not list((settings.data_dir / "raw").rglob("*.tmp"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "suffix", "at"), [("os.rename", ".tmp", n) for n in (1, 2, 3)] + [("os.remove", "", 2)]
)
def test_a_killed_merge_loses_and_doubles_nothing(
    settings: Settings,
    land: Callable[..., LoadSummary],
    raw: Callable[[str, str], list[dict[str, Any]]],
    event: str,
    suffix: str,
    at: int,
) -> None:
    """Killed at any rename or removal: the same rows are read, and the next merge ends with one pair."""
    for number in range(3):
        land("orders", {"id": number})
    before = raw("documents", "orders"), raw("observations", "orders")
    assert _run(settings, event, suffix, at, "merge") == KILLED
    assert (raw("documents", "orders"), raw("observations", "orders")) == before
    assert land("orders", {"id": 1}).counts["unchanged"] == 1
    merge_days(settings.data_dir, "orders", dt.date(9999, 1, 1))
    assert raw("documents", "orders") == before[0]
    assert raw("observations", "orders")[:3] == before[1]
    assert len(raw_files(settings.data_dir, "orders").observations) == 1


def test_a_kill_between_raw_and_vault_is_mended(settings: Settings, land: Callable[..., LoadSummary]) -> None:
    """A load whose files are in place keeps what it encrypted, even if the vault was not told."""
    done = land("orders", {"id": 1, "user_name": "Ann"})
    with open_vault(settings) as vault:
        vault.begin(done.load_id, "orders")
        land("orders", {"id": 2})
        assert vault.open_loads("orders") == []
        assert vault.decrypt("orders", 1) == {"/user_name": "Ann"}


@pytest.mark.parametrize("limit", [100_000, 1_000])
def test_load_that_cannot_be_written_leaves_nothing_and_the_next_one_can(
    settings: Settings, vault: Vault, raw: Callable[[str, str], list[dict[str, Any]]], limit: int
) -> None:
    """A disk that takes no more raw files, or nothing at all, fails a load; the same process lands the next one."""
    bodies = [json.dumps({"id": n, "status": secrets.token_hex(200)}).encode() for n in range(1, 1_201)]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    load = Load(settings, vault, "orders")
    for body in bodies:
        load.validate(body)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises((OSError, sqlite3.OperationalError)), load:
            load.commit()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with Load(settings, vault, "orders") as load:
        assert not list(settings.data_dir.glob("raw/*/orders/*"))
        assert vault.open_loads("orders") == []
        for body in bodies:
            load.validate(body)
        load.commit()
    assert len(raw("observations", "orders")) == 1_200
