"""Which engine the settings name, and refusals before anything is built."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import socket
import sys
from typing import TYPE_CHECKING

import pytest

from pipelines.cli import main
from pipelines.engines import EngineError, bytes_of, engine_of, require_token
from pipelines.settings import SettingsError, load_settings

if TYPE_CHECKING:
    from pathlib import Path

RAY = {"ORDERMART_ENGINE__NAME": "ray", "ORDERMART_ENGINE__ADDRESS": "10.0.0.5:6379"}


def wanted(monkeypatch: pytest.MonkeyPatch, *, installed: bool = True, mode: str = "", **environ: str) -> object:
    """Return the engine of settings with this environment, on a machine with Ray or without it."""
    spec = importlib.machinery.ModuleSpec("ray", None) if installed else None
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: spec)
    monkeypatch.setenv("RAY_AUTH_MODE", mode)
    return engine_of(load_settings(None, environ))


def test_local_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a setting a build needs no Ray."""
    assert wanted(monkeypatch, installed=False) is None


def test_what_ray_needs_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra, an address, a token: each is missed in a sentence that says what to do."""
    with pytest.raises(SettingsError, match=r'pip install "ordermart\[ray\]"'):
        wanted(monkeypatch, installed=False, **RAY)
    for address in ("", "auto", "ray://10.0.0.5:10001", "10.0.0.5"):
        with pytest.raises(SettingsError, match=r"\[engine\] address: name the head of a Ray cluster"):
            wanted(monkeypatch, **RAY | {"ORDERMART_ENGINE__ADDRESS": address})
    with pytest.raises(SettingsError, match="set RAY_AUTH_MODE=token"):
        wanted(monkeypatch, **RAY)
    assert wanted(monkeypatch, mode="token", **RAY)
    assert wanted(monkeypatch, ORDERMART_SECURITY__ALLOW_OPEN_RAY="true", **RAY)


def test_an_absent_cluster_is_said() -> None:
    """Where nobody listens, the sentence names the address."""
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(EngineError, match=f"no Ray cluster answers at {address}: is its head there"):
            require_token(address)


def test_memory_of_a_task_is_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as DuckDB counts; a share of a machine is refused, as nodes differ."""
    assert (bytes_of("850MB"), bytes_of("2 GiB")) == (850_000_000, 2 * 1024**3)
    with pytest.raises(SettingsError, match=r"\[engine\] task_memory: '80%' is not a size such as 850MB"):
        wanted(monkeypatch, mode="token", **RAY, ORDERMART_ENGINE__TASK_MEMORY="80%")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("spark", "ordermart: [engine] name: must be one of local, ray "),
        ("ray", 'ordermart: [engine] name: "ray" needs the extra ray, on every node: '),
    ],
)
def test_the_command_ends_with_2(
    name: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without Ray, or with an engine that there is not, `ordermart build` ends before it touches anything."""
    config = tmp_path / "ordermart.toml"
    config.write_text("", encoding="utf-8")
    monkeypatch.setenv("ORDERMART_ENGINE__NAME", name)
    monkeypatch.setattr(sys, "argv", ["ordermart", "build", "--config", str(config)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(said)
    assert not (tmp_path / "data" / "warehouse").exists()
