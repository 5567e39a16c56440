"""Secrets come from the environment or from a file that only its owner can read; whatever is wrong is named."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from pipelines.settings import load_settings
from pipelines.vault import VaultError, new_key_file, open_vault

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings

GOOD = base64.b64encode(b"k" * 32).decode()


def _settings(folder: Path, **environ: str) -> Settings:
    file = folder / "ordermart.toml"
    file.write_text("", encoding="utf-8")
    return load_settings(file, environ={f"ORDERMART_VAULT__{name.upper()}": value for name, value in environ.items()})


def test_a_new_key_file_opens_a_vault(tmp_path: Path) -> None:
    """The file is of mode 600, holds two different secrets of 32 bytes, and is found relative to the settings."""
    new_key_file(tmp_path / "keys.json")
    held = json.loads((tmp_path / "keys.json").read_text())
    assert (tmp_path / "keys.json").stat().st_mode & 0o777 == 0o600
    assert {len(base64.b64decode(each)) for each in held.values()} == {32}
    assert len(set(held.values())) == 2
    with open_vault(_settings(tmp_path, key_file="keys.json")) as vault:
        assert vault.decrypt("orders", 1) == {}


def test_a_key_file_is_never_overwritten(tmp_path: Path) -> None:
    """Making keys where keys are would lose a vault."""
    new_key_file(tmp_path / "keys.json")
    before = (tmp_path / "keys.json").read_bytes()
    with pytest.raises(FileExistsError):
        new_key_file(tmp_path / "keys.json")
    assert (tmp_path / "keys.json").read_bytes() == before


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({}, "master_key is missing"),
        ({"master_key": GOOD}, "lookup_secret is missing"),
        ({"master_key": "short", "lookup_secret": GOOD}, "master_key from the environment"),
        ({"master_key": GOOD, "lookup_secret": GOOD[:-8]}, "lookup_secret from the environment"),
        ({"key_file": "absent.json"}, "key_file: cannot read"),
    ],
)
def test_missing_and_wrong_secrets_are_named(tmp_path: Path, environ: dict[str, str], named: str) -> None:
    """The error names the setting and shows no part of a secret."""
    with pytest.raises(VaultError, match=named) as raised:
        open_vault(_settings(tmp_path, **environ))
    assert GOOD[:6] not in str(raised.value)
    assert not (tmp_path / "data" / "vault" / "vault.sqlite").exists()


@pytest.mark.parametrize("content", ["", "[]", '{"master_key": 1}', "no json", "\ud800"])
def test_what_is_no_key_file_is_refused(tmp_path: Path, content: str) -> None:
    """A file of another shape is named, and its content is not shown."""
    file = tmp_path / "keys.json"
    file.write_bytes(content.encode("utf-8", "surrogatepass"))
    file.chmod(0o600)
    with pytest.raises(VaultError, match="key_file"):
        open_vault(_settings(tmp_path, key_file="keys.json"))


def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    """Keys that were open to others are no secret any more."""
    new_key_file(tmp_path / "keys.json")
    (tmp_path / "keys.json").chmod(0o640)
    with pytest.raises(VaultError, match="chmod 600"):
        open_vault(_settings(tmp_path, key_file="keys.json"))
    settings = _settings(tmp_path, key_file="keys.json")
    allowed = msgspec.structs.replace(settings.security, allow_readable_secrets=True)
    open_vault(msgspec.structs.replace(settings, security=allowed)).close()


def test_the_environment_goes_before_the_file(tmp_path: Path) -> None:
    """A secret of the environment is used even where a key file holds one."""
    new_key_file(tmp_path / "keys.json")
    open_vault(_settings(tmp_path, key_file="keys.json")).close()
    with pytest.raises(VaultError, match="master_key is not the key"):
        open_vault(_settings(tmp_path, key_file="keys.json", master_key=GOOD))
