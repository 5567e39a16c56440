"""Files that we write beside others' files: a link planted under a temporary name is never followed."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipelines.durable import UNFINISHED, write_whole
from pipelines.inventory import write_noted
from pipelines.vault import new_key_file
from pipelines.vault.bodies import Spool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


WRITERS: dict[str, Callable[[Path], object]] = {
    "keys": new_key_file,
    "a small file": lambda path: write_whole(path, b"ours"),
    "a noted file": lambda path: write_noted(path.parent, path, b"ours"),
    "a spool": lambda path: Spool(path, AESGCM(b"1" * 32)).begin("20261101T000000000000"),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("is_there", [True, False])
def test_planted_link_is_not_followed(tmp_path: Path, writer: str, is_there: bool) -> None:
    """Neither is a file of another's overwritten, nor does it get our content."""
    path, victim = tmp_path / "ours", tmp_path / "victim"
    if is_there:
        victim.write_text("theirs", encoding="utf-8")
    path.with_name(path.name + UNFINISHED).symlink_to(victim)
    WRITERS[writer](path)
    assert not path.is_symlink()
    assert (victim.read_text(encoding="utf-8") if victim.exists() else "") == ("theirs" if is_there else "")
    if writer == "keys":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
