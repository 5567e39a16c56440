"""Where the project is, and what git tracks of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def project() -> Path:
    """Return the project's folder."""
    return Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def tracked(project: Path) -> list[Path]:
    """Return every file that git tracks and that is there."""
    said = subprocess.run(["git", "ls-files", "-z"], cwd=project, capture_output=True, check=False)
    if said.returncode:
        pytest.skip("this is not a git checkout")
    files = [project / name for name in said.stdout.decode().split("\0") if name]
    return [file for file in files if file.is_file()]
