"""The commands of the documents' blocks run as they are written, on a world that fits the examples.

What only a machine, a person or a partner can run is in PARSED_ONLY; tests/house checks its options.
"""

from __future__ import annotations

import datetime as dt
import io
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines import cli
from tests.documents import Command, commands

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Document, World

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "docs/FINANCE.md", "docs/OPERATIONS.md")
BLOCKS = [each for name in DOCUMENTS for each in commands(ROOT / name) if each.is_block]
PARSED_ONLY = {
    "python3 bootstrap.py run": "sets up an environment; .ci runs it",
    "python3 bootstrap.py test": "runs this test",
    "ordermart --config data/demo.toml run": "starts the sandbox: tests/assets/test_demo.py",
    "ordermart demo --next-night": "starts the sandbox: tests/assets/test_demo.py",
    "ordermart --config data/demo.toml dev": "runs until it is stopped: tests/assets/test_dagster_pages.py",
    "ordermart init shop.toml --order-ids ids.txt": "asks a person: tests/strangers/test_init.py",
    "ordermart --config shop.toml doctor": "asks a partner: tests/assets/test_doctor.py",
    "ordermart --config shop.toml run --order-ids ids.txt": "asks a partner: tests/assets/test_run.py",
}
# Ends with 1 in this world, and this sentence.
REFUSED = {
    'ordermart close 2026-10-31 --with-exceptions "…"': "already closed",  # by a line above
    "ordermart close approve 2026-10-31": "already closed",  # with a second user: tests/closing
    'ordermart close accept-no-orders 2026-12-25 --reason "…"': "nothing to accept",
}
SETTINGS = """
[sales]
counted_statuses = ["delivered"]

[formula]
subtotal_rule = "unit_price/modifiers_per_unit_by_own/all_add/before_discount/unrounded"
total_rule = "observed/unrounded"

[privacy]
erasure_log = "erasures.jsonl"
"""
LATER = dt.datetime(2026, 11, 9, tzinfo=dt.UTC)  # late enough to close their day
PHONE = "+1 212 555 0199"


@pytest.fixture(scope="module")
def ready(world_of: Callable[..., World], make_order: Callable[..., Document], tmp_path_factory: Any) -> World:
    """Publish the orders and the day that the documents name, as the demo would leave them."""
    folder = tmp_path_factory.mktemp("documents")
    (folder / "erasures.jsonl").touch()
    made = world_of(folder, SETTINGS)
    made.land("stores", [{"id": 3, "name": "Harbour", "timezone": "America/New_York", "currency": "USD"}])
    explained = next(int(each.words[-1]) for each in BLOCKS if "explain" in each.words)  # of the README
    orders = [make_order(number, created_at="2026-10-31T16:00:00Z") for number in (7, explained)]
    made.land("orders", orders, LATER)
    made.publish()
    demo = made.settings.data_dir / "demo.toml"
    demo.write_text(made.file.read_text(encoding="utf-8") + '[data]\ndir = "."\n', encoding="utf-8")
    return made


def run(command: Command, config: Path, monkeypatch: pytest.MonkeyPatch, said: Any) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it printed."""
    monkeypatch.setenv("ORDERMART_CONFIG", str(config))  # which `--config` sets for its command
    monkeypatch.setattr(sys, "argv", command.words)
    monkeypatch.setattr(sys, "stdin", io.StringIO(PHONE if "--phone" in command.words else "canary@example.com"))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0), "".join(said.readouterr())


@pytest.mark.slow
def test_documented_blocks_run_as_written(
    ready: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each block in its order: places for backups and a hash are filled in, nothing else is changed."""
    for name, value in ready.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(ready.folder)
    found: dict[str, tuple[int, str]] = {}
    head = ""

    for written in BLOCKS:
        if written.text in PARSED_ONLY:
            continue
        command = written._replace(text=written.text.replace("HASH", head).replace("/mnt/other", str(tmp_path)))
        if command.words[:2] == ["ordermart", "restore"] and "--check" not in command.words:
            ready.settings.data_dir.rename(tmp_path / "lost")
        found[written.text] = run(command, ready.file, monkeypatch, capfd)
        if written.text == "ordermart ledger verify":
            head = re.search(r"\b[0-9a-f]{64}\b", found[written.text][1])[0]
    wrong = [
        f"{text}: {code}\n{printed}"
        for text, (code, printed) in found.items()
        if code != int(text in REFUSED) or REFUSED.get(text, "") not in printed
    ]
    assert not wrong, "\n".join(wrong)
    assert PARSED_ONLY.keys() | REFUSED.keys() <= {each.text for each in BLOCKS}
