"""Serve a world as the sandbox does, with faults and in dialects: `python -m tests.service JSON`.

The JSON has the fields of the world's Config and the keywords of `serve`; the process ends with its input.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from pipelines.sandbox.__main__ import serve_world
from pipelines.sandbox.app import Service, make_app
from pipelines.sandbox.world import Config, World
from tests.service.dialects import DIALECTS, Speaker
from tests.service.troubles import Faults, JsonWebTokens, Trouble

if TYPE_CHECKING:
    from starlette.types import ASGIApp


def serve(
    config: Config,
    *,
    port: int = 0,
    truth: str | None = None,
    ids: str | None = None,
    dialect: str = "standard",
    trouble: dict[str, Any] | None = None,
    token_life_seconds: int = 3600,
) -> NoReturn:
    """Serve until told to stop."""
    spoken, troubles = DIALECTS[dialect](), msgspec.convert(trouble or {}, Trouble)

    def application(world: World) -> ASGIApp:
        service = Service(world)
        service.sender.shape = spoken.hint or service.sender.shape
        service.tokens = tokens = JsonWebTokens(token_life_seconds)
        faults = Faults(make_app(service), config.seed, tokens)
        faults.set(troubles)
        return faults.app if dialect == "standard" else Speaker(spoken, faults.app)

    files = {"truth": truth and Path(truth), "ids": ids and Path(ids)}
    serve_world(config, application, port=port, path=spoken.prefix, watch_stdin=True, **files)  # type: ignore[arg-type]


if __name__ == "__main__":
    flags = json.loads(sys.argv[1])
    world = {field.name: flags.pop(field.name) for field in fields(Config) if field.name in flags}
    if "until" in world:
        world["until"] = dt.date.fromisoformat(world["until"])
    serve(Config(**world), **flags)
