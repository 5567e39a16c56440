"""A settings file with given lines, read without this machine's environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipelines.settings import Settings, SettingsError, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Settings]:
    """Read settings from a file with the given text, under the given variables."""

    def reading(text: str = "", **variables: str) -> Settings:
        file = tmp_path / "own.toml"
        file.write_text(text, encoding="utf-8")
        return load_settings(file, variables)

    return reading


@pytest.fixture
def refusal(read: Callable[..., Settings]) -> Callable[..., str]:
    """Give the sentence with which such settings are refused."""

    def refusing(text: str = "", **variables: str) -> str:
        with pytest.raises(SettingsError) as caught:
            read(text, **variables)
        return str(caught.value)

    return refusing
