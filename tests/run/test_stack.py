"""How deep the code is that a request goes through: a stack that can be read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines import cli
from pipelines.sandbox.process import Sandbox
from pipelines.vault import new_key_file

if TYPE_CHECKING:
    from types import FrameType

MOST = 13


@pytest.mark.slow
def test_few_frames_are_on_the_stack_at_the_request_for_an_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the command to the request for an order there are at most thirteen calls of our own."""
    stacks: list[list[str]] = []

    def watch(frame: FrameType | None, event: str, _argument: Any) -> None:
        """Keep our part of the stack when aiohttp begins a request for an order."""
        if event != "call" or frame is None or frame.f_code.co_name != "_request" or stacks:
            return
        if "/orders/" not in str(frame.f_locals.get("str_or_url")):
            return
        found = []
        while frame is not None:
            file = Path(frame.f_code.co_filename)
            if "pipelines" in file.parts:
                found.append(f"{file.parent.name}/{file.name}: {frame.f_code.co_qualname}")
            frame = frame.f_back
        stacks.append(found[::-1])

    new_key_file(tmp_path / "keys.json")
    with Sandbox(orders=5, stores=1, days=2, ids=tmp_path / "ids") as sandbox:
        environ = {
            "PARTNER__BASE_URL": sandbox.base_url,
            "PARTNER__CLIENT_ID": "sandbox",
            "PARTNER__CLIENT_SECRET": "sandbox",
            "VAULT__KEY_FILE": str(tmp_path / "keys.json"),
            "DATA__DIR": str(tmp_path / "data"),
        }
        for name, value in environ.items():
            monkeypatch.setenv(f"ORDERMART_{name}", value)
        monkeypatch.setattr(sys, "argv", ["ordermart", "run", "--due", "--order-ids", str(tmp_path / "ids")])
        sys.setprofile(watch)
        try:
            with pytest.raises(SystemExit):
                cli.main()
        finally:
            sys.setprofile(None)
    (stack,) = stacks
    assert len(stack) <= MOST, "\n".join(stack)
