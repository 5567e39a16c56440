"""What commands end with when there is nothing good to say."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.report.conftest import ROOT, World

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.slow
def test_landing_only_rejected_documents_ends_with_3(tmp_path: Path, make_order: Callable[..., Any]) -> None:
    """A file of which nothing was accepted is not a success; one of which something was, is."""
    world = World(tmp_path / "world")
    bad, mixed = tmp_path / "bad.ndjson", tmp_path / "mixed.ndjson"
    bad.write_text('{"id": 1, "total_price": "a text"}\nnot JSON\n', encoding="utf-8")
    mixed.write_text('{"id": 2, "total_price": 5}\nnot JSON\n', encoding="utf-8")
    done = world.command("land", "orders", str(bad))
    assert (done.returncode, "2 quarantined" in done.stdout) == (3, True), done.stdout + done.stderr
    assert world.command("land", "orders", str(mixed)).returncode == 0


@pytest.mark.slow
def test_keys_are_never_overwritten(tmp_path: Path) -> None:
    """An existing file is named in one sentence, and stays as it is."""
    keys = tmp_path / "keys.json"
    keys.write_text("mine")
    command = [sys.executable, "-m", "pipelines.cli", "vault", "generate-keys", str(keys)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, keys.read_text()) == (1, "mine")
    assert done.stderr == f"ordermart: {keys} exists, and keys are never overwritten: name another file\n"
