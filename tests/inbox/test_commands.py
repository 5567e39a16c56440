"""The commands of the inbox as an operator types them: serve, undecodable, reread, retry."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from pipelines.inbox.worklist import WorkList
from pipelines.vault import new_key_file

if TYPE_CHECKING:
    from collections.abc import Callable

    Command = Callable[..., subprocess.Popen[str]]

ROOT = Path(__file__).resolve().parents[2]
PHONE = "+44 20 7946 0001"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Give `command("retry")`: the command started on a data folder of its own."""
    new_key_file(tmp_path / "keys.json")
    environ = {
        "ORDERMART_VAULT__KEY_FILE": str(tmp_path / "keys.json"),
        "ORDERMART_DATA__DIR": str(tmp_path / "data"),
    }

    def start(*arguments: str, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "pipelines.cli", *arguments],
            cwd=ROOT, env={**os.environ, **environ, **more}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    return start


def said(process: subprocess.Popen[str]) -> str:
    """Return what a command printed, once it has ended well."""
    with process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


@pytest.mark.slow
def test_webhooks_undecodable_deliveries_are_listed_and_reprocessed(command: Command, tmp_path: Path) -> None:
    """A delivery with its id in an unknown location is listed without its body, and decoded once settings name it."""
    assert said(command("webhooks", "undecodable")) == "There are no undecodable deliveries.\n"
    with command("webhooks", "serve", "--port", "0") as receiver:
        assert receiver.stdout is not None
        url = receiver.stdout.readline().strip().removeprefix("ready on ")
        body = {"topic": "orders.update", "odd": {"number": 7}, "user_phone": PHONE}
        assert httpx.post(url, json=body).status_code == 202
        receiver.terminate()
    listed = said(command("webhooks", "undecodable"))
    assert listed.startswith("1  2")
    assert "no id found; topic orders.update" in listed
    assert "body kept in the vault" in listed
    assert PHONE not in listed
    assert said(command("webhooks", "reprocess")).startswith("0 decoded and put on the work list; 1 still undecodable")
    again = said(command("webhooks", "reprocess", ORDERMART_WEBHOOKS__ID_LOCATIONS='["/odd/number"]'))
    assert again.startswith("1 decoded and put on the work list; 0 still undecodable")
    with WorkList(tmp_path / "data" / "inbox" / "worklist.sqlite") as work:
        assert work.due("orders") == [7]
    assert "no undecodable deliveries to reprocess" in said(command("webhooks", "reprocess"))


@pytest.mark.slow
def test_retry_makes_the_dead_letter_queue_due(command: Command, tmp_path: Path) -> None:
    """`ordermart retry` reports what failed and why, and makes it due; `--kind` retries one kind only."""
    with WorkList(tmp_path / "data" / "inbox" / "worklist.sqlite") as work:
        for kind, ids in (("orders", [5, 3]), ("menus", [9])):
            work.add(kind, ids, why="test")  # type: ignore[arg-type]
            for id_ in ids:
                work.rejected(kind, [id_], "no_id", 1)  # type: ignore[arg-type]
    assert said(command("retry", "--kind", "orders")) == (
        "  orders: 2, such as 3, failed: no_id\n"
        "2 ids are due again: the next `ordermart run` requests what was in the queue.\n"
    )
    with WorkList(tmp_path / "data" / "inbox" / "worklist.sqlite") as work:
        assert sorted(work.due("orders")) == [3, 5]
        assert [letter.id for letter in work.dead_letters()] == [9]
    assert "1 id is due again" in said(command("retry"))
    assert said(command("retry")) == "Nothing to retry.\n"
    with WorkList(tmp_path / "data" / "inbox" / "worklist.sqlite") as work:
        work.rejected("orders", [5], "no_id", 1)
    assert said(command("retry", "--forget")).endswith("1 id is no longer on the work list.\n")
    assert said(command("retry", "--forget")) == "Nothing to forget.\n"
    with WorkList(tmp_path / "data" / "inbox" / "worklist.sqlite") as work:
        assert work.entry("orders", 5) is None
    with command("retry", "--kind", "customers") as wrong:
        assert wrong.communicate(timeout=60)[1].startswith("ordermart: --kind: 'customers' is not a kind of document")
    assert wrong.returncode == 2
