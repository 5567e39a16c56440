"""`ordermart questions` before the first release: each open answer of [partner], with the command that finds it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.forked import ordermart
from tests.strangers.services import Square
from tests.strangers.test_first_release import SALES, init

if TYPE_CHECKING:
    from pathlib import Path


def questions(file: Path) -> list[str]:
    """Return the lines that name an open answer."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("ORDERMART_PARTNER")}
    said = ordermart(("--config", str(file), "questions"), environ, timeout=60).stdout
    return [line.strip() for line in said.splitlines() if "`ordermart init shop.toml`" in line]


@pytest.mark.slow
def test_open_answers_name_the_command_that_finds_them(tmp_path: Path) -> None:
    """Twelve are open while a file gives none; one that it gives is not; none is after `init`."""
    file = tmp_path / "shop.toml"
    file.write_text('[data]\ndir = "data"\n')
    lines = questions(file)
    assert len(lines) == 12
    assert lines[0].startswith("partner.base_url: base address.")
    file.write_text('[partner.authenticate]\npath = "/login"\n[data]\ndir = "data"\n')
    assert [line for line in lines if line not in questions(file)] == [
        line for line in lines if line.startswith("partner.authenticate.path")
    ]
    file.unlink()
    with Square() as service:
        assert init(tmp_path, service, SALES).returncode == 0
    assert questions(file) == []
