"""What this user may not read is neither damaged nor lost: the owner, the mode and the command are named."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.backup.comparing import DamageError, accept_losses, compare, mend
from pipelines.inventory import INVENTORY, record_stores, write_noted
from pipelines.ledger import User
from pipelines.ledger.signed_head import signing_ledger
from pipelines.settings import load_settings
from pipelines.vault import new_key_file, open_vault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.settings import Settings

NOBODY = 65_534


@pytest.fixture
def settings() -> Iterator[Settings]:
    """Give a data folder with a vault, a ledger and a small file, of a user who is not root."""
    folder = Path(tempfile.mkdtemp())
    new_key_file(folder / "keys.json")
    (folder / "ordermart.toml").write_text('[vault]\nkey_file = "keys.json"\n', encoding="utf-8")
    settings = load_settings(folder / "ordermart.toml", environ={})
    write_noted(settings.data_dir, settings.data_dir / "format.json", b'{"inventory":1}')
    write_noted(settings.data_dir, settings.data_dir / "raw" / "source.json", b"{}")
    with open_vault(settings):
        pass
    signing_ledger(settings).append("a", {"n": 1})
    record_stores(settings.data_dir)
    is_root = os.geteuid() == 0
    if is_root:
        for each in (folder, *folder.rglob("*")):
            os.chown(each, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    yield settings
    if is_root:
        os.seteuid(0)
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["raw/source.json", "vault/vault.sqlite", "raw", "ledger/ledger.jsonl", INVENTORY])
def test_a_file_that_may_not_be_read_is_not_damaged(settings: Settings, name: str) -> None:
    """Nothing is called lost, mended or accepted, and nothing is changed; afterwards all is as before."""
    path = settings.data_dir / name
    mode = path.stat().st_mode & 0o7777
    path.chmod(0)
    try:
        found = compare(settings)
        (sentence,) = {damage.sentence() for damage in found.damages}
        assert f"{path} belongs to " in sentence
        assert "with mode 0" in sentence
        assert f"chmod -R u+rwX {settings.data_dir}" in sentence
        assert "Lost" not in sentence
        assert "damaged" not in found.sentence()
        assert not found.assess().is_good
        if name != INVENTORY:
            assert all(damage.stops for damage in mend(settings, seconds=1).damages)
        with pytest.raises(DamageError, match="nothing was accepted"):
            accept_losses(settings, "gone", User(1))
    finally:
        path.chmod(mode)
    assert compare(settings).assess().is_good


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_root_names_its_owner(settings: Settings) -> None:
    """After a night as root: the command gives the folder back."""
    path = settings.data_dir / "raw" / "source.json"
    os.seteuid(0)
    os.chown(path, 0, 0)
    path.chmod(0o600)
    os.seteuid(NOBODY)
    (damage,) = compare(settings).damages
    assert f"{path} belongs to root, with mode 600" in damage.sentence()
    assert f"sudo chown -R nobody {settings.data_dir}" in damage.sentence()
