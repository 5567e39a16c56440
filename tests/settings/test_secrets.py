"""Secrets come from the environment alone, and show themselves to nobody who does not ask."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

import msgspec
import pytest

from pipelines.settings import Secret, Settings, SettingsError, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


SECRETS = ["partner.client_id", "partner.client_secret", "vault.master_key", "vault.lookup_secret", "webhooks.secret"]
VALUE = "hunter2-hunter2"


def variable(key: str) -> str:
    """Return the variable of a key."""
    return "ORDERMART_" + key.replace(".", "__").upper()


@pytest.mark.parametrize("key", SECRETS)
def test_a_file_may_hold_no_secret(refusal: Callable[..., str], key: str) -> None:
    """A secret in a settings file is refused by the variables that may give it, without its value."""
    table, name = key.split(".")
    said = refusal(f"[{table}]\n{name} = '{VALUE}'")
    assert said.startswith(f"[{table}] {name} is a secret")
    assert variable(key) + " or " + variable(key) + "_FILE" in said
    assert VALUE not in said


@pytest.mark.parametrize("key", SECRETS)
def test_a_file_named_by_the_environment_gives_a_secret(
    read: Callable[..., Settings], tmp_path: Path, key: str
) -> None:
    """The file's text is the secret, without the line break that editors put at its end."""
    file = tmp_path / "secret"
    file.write_text(VALUE + "\n", encoding="utf-8")
    file.chmod(0o600)
    settings = read(**{variable(key) + "_FILE": str(file)})
    table, name = key.split(".")
    assert getattr(getattr(settings, table), name).reveal() == VALUE


def test_a_secret_file_that_cannot_be_read_is_named(refusal: Callable[..., str], tmp_path: Path) -> None:
    """A missing file and a file that is no text are refused by the variable's name."""
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff")
    name = "ORDERMART_PARTNER__CLIENT_SECRET_FILE"
    assert refusal(**{name: str(tmp_path / "none")}).startswith(f"{name} names a file that cannot be read")
    assert refusal(**{name: str(binary)}).startswith(f"{name} names a file that is not UTF-8 text")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_secret_file_that_others_can_read_is_refused(
    read: Callable[..., Settings], refusal: Callable[..., str], tmp_path: Path, mode: int
) -> None:
    """A file open to others is refused by its variable, unless that is allowed, before or after it in the alphabet."""
    file = tmp_path / "secret"
    file.write_text(VALUE, encoding="utf-8")
    file.chmod(mode)
    name = "ORDERMART_WEBHOOKS__SECRET_FILE"
    assert refusal(**{name: str(file)}).startswith(f"{name} names a file that others can read: chmod 600")
    allowed = {name: str(file), "ORDERMART_SECURITY__ALLOW_READABLE_SECRETS": "true"}
    assert read(**allowed).webhooks.secret.reveal() == VALUE


def test_a_secret_given_twice_is_refused(refusal: Callable[..., str], tmp_path: Path) -> None:
    """Nobody guesses which of two secrets is meant."""
    said = refusal(
        ORDERMART_PARTNER__CLIENT_SECRET=VALUE, ORDERMART_PARTNER__CLIENT_SECRET_FILE=str(tmp_path / "secret")
    )
    assert "ORDERMART_PARTNER__CLIENT_SECRET_FILE are both set" in said
    assert VALUE not in said


def test_a_key_file_is_a_setting_and_no_file_of_a_secret(read: Callable[..., Settings]) -> None:
    """ORDERMART_VAULT__KEY_FILE sets [vault] key_file, although it ends as a secret's file does."""
    assert read(ORDERMART_VAULT__KEY_FILE="keys.json").vault.key_file == "keys.json"


def test_a_secret_does_not_show(read: Callable[..., Settings]) -> None:
    """Neither repr, str, format nor an encoder gives a secret away."""
    settings = read(**{variable(key): VALUE for key in SECRETS})
    for shown in (repr(settings), str(settings), f"{settings}", f"{settings.vault.master_key}"):
        assert VALUE not in shown
    with pytest.raises(TypeError) as caught:
        msgspec.json.encode(settings)
    assert VALUE not in str(caught.value)


def test_an_error_beside_a_secret_does_not_show_it(tmp_path: Path) -> None:
    """A refusal of another setting carries no secret in its message or in the errors behind it."""
    environment = {variable(key): VALUE for key in SECRETS} | {"ORDERMART_LANDING__MAX_DEPTH": "1.5"}
    file = tmp_path / "own.toml"
    file.touch()
    with pytest.raises(SettingsError) as caught:
        load_settings(file, environment)
    assert VALUE not in "".join(traceback.format_exception(caught.value))


def test_a_secret_knows_whether_it_is_there() -> None:
    """An empty secret is false."""
    assert not Secret("")
    assert Secret("0")
