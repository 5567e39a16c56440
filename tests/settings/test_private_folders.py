"""Written files are their owner's alone, whatever the machine's umask, but for releases, which others may read."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.durable import keep_private, open_to_readers
from pipelines.inbox.receiver import serve_webhooks
from pipelines.settings import Settings, SettingsError
from pipelines.vault import new_key_file

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
NO_UMASK = "import os; os.umask(0); from pipelines.cli import main; main()"


def modes(folder: Path) -> dict[str, int]:
    """Return the mode of each path below a folder, and its own."""
    every = [folder, *folder.rglob("*")]
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in every}


@pytest.mark.slow
def test_a_command_writes_for_its_owner_alone(tmp_path: Path) -> None:
    """Under a umask of 0, only the data folder itself can be passed through; nothing in it can be seen or read."""
    new_key_file(tmp_path / "keys.json")
    (tmp_path / "orders.ndjson").write_text('{"id": 1, "user_phone": "+1 555"}\n{"id": "x"}\n')
    (tmp_path / "own.toml").write_text('[vault]\nkey_file = "keys.json"\n[data]\ndir = "data"\n')
    options = ["land", "orders", str(tmp_path / "orders.ndjson"), "--config", str(tmp_path / "own.toml")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ORDERMART_")}
    done = subprocess.run(
        [sys.executable, "-c", NO_UMASK, *options],
        env={**environment, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in {0, 3}, done.stderr
    found = modes(tmp_path / "data")
    assert {"raw", "vault"} <= set(found)
    assert found.pop(".") == 0o711
    assert {path: mode for path, mode in found.items() if mode & 0o077} == {}


def test_folders_of_an_earlier_version_are_closed(tmp_path: Path) -> None:
    """Folders that others could enter are closed, published ones opened; others' files are left alone."""
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    for folder in (data / "raw" / "orders", data / "vault", data / "published", elsewhere):
        folder.mkdir(parents=True)
        folder.chmod(0o755)
    (data / "raw").chmod(0o775)
    (data / "published").chmod(0o700)
    (data / "notify").symlink_to(elsewhere)
    (data / "somebody's").mkdir()
    (data / "somebody's").chmod(0o750)
    keep_private(data)
    found = modes(data)
    assert (found["."], found["raw"], found["vault"], found["published"]) == (0o711, 0o700, 0o700, 0o755)
    assert found["somebody's"] == 0o750
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o755


def test_a_release_is_opened_to_readers(tmp_path: Path) -> None:
    """Everything in it can be read, and nothing written that could not be written before."""
    release = tmp_path / "release"
    (release / "parquet").mkdir(parents=True, mode=0o700)
    for name, mode in (("manifest.json", 0o600), ("parquet/a.parquet", 0o400)):
        (release / name).touch()
        (release / name).chmod(mode)
    open_to_readers(release)
    assert modes(release) == {".": 0o755, "manifest.json": 0o644, "parquet": 0o755, "parquet/a.parquet": 0o444}


def test_an_unsigned_receiver_listens_to_this_machine_only(read: Callable[..., Settings]) -> None:
    """An address given by option is refused as one in the settings is."""
    with pytest.raises(SettingsError, match=r"\[webhooks\] host: 0\.0\.0\.0 can be reached by others"):
        serve_webhooks(read(), "0.0.0.0", 0)  # noqa: S104 -- the refused value
