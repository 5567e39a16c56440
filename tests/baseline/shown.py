"""Give the facts of the command line and the settings file: help texts, exit codes, types, defaults."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import msgspec
import typer.main

from pipelines.cli import app
from pipelines.settings import Settings
from tests import forked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.baseline.facts import Facts

# Commands not run without arguments in an empty folder, and why.
NOT_RUN = {
    "ordermart demo": "plays four nights; the part `demo` has its tables",
    "ordermart doctor": "examines the machine, too",
    "ordermart dev": "serves until it is ended",
    "ordermart sandbox serve": "serves until it is ended",
    "ordermart webhooks serve": "serves until it is ended",
    "ordermart run": "tries again for long where no service answers",
    "ordermart audit-pack": "takes seconds; the part `demo` runs it",
    "ordermart build": "takes seconds; the part `demo` runs it",
    "ordermart verify": "takes seconds; the part `demo` runs it",
}
# Commands run one after the other on a demo's data.
ON_DEMO = (
    *("status", "questions", "contract", "reconcile", "breaks list", "restatements list", "ledger verify"),
    *("explain order {order}", "explain order 1", "diff", "diff nothing nowhere", "verify", "webhooks undecodable"),
    *("close day", "close day 2026-10-20", "close day 2026-10-20 --with-exceptions why", "close day 2026-10-20"),
    *("close approve 2026-10-20", "close reopen 2026-10-20 --reason why", "close reopen 2026-10-20 --reason why"),
    *("close accept-no-orders 2031-01-01 --reason why", "restatements post --period 2026-10", "retry"),
    *("breaks accept {order} --reason why", "breaks assign {order} --to Ben", "breaks accept 1 --reason why"),
    *("audit-pack --period 2026-10 --out {folder}/pack", "audit-pack --period 2026-10 --out {folder}/pack"),
    *("land orders nowhere.json", "totals import nowhere.csv"),
    *(
        "vault reveal order {order}",
        "vault export --order-id {order}",
        "vault export",
        "vault rotate",
        "land reprocess",
    ),
    *("backup {folder}/backup", "restore {folder}/backup", "restore nowhere", "webhooks reprocess", "build"),
    *("vault erase --order-id {order}", "status --json"),
)


def settings() -> Facts:
    """Return type and default of each setting."""
    defaults = tomllib.loads((Path(__file__).parents[2] / "ordermart.toml").read_text(encoding="utf-8"))
    return dict(_settings(Settings, "", defaults))


def _settings(table: type, path: str, defaults: Any) -> Iterator[tuple[str, dict[str, str]]]:
    for name, kind in get_type_hints(table, include_extras=True).items():
        default = defaults.get(name) if isinstance(defaults, dict) else None
        inner = [
            each for each in (kind, *get_args(kind)) if isinstance(each, type) and issubclass(each, msgspec.Struct)
        ]
        if inner == [kind]:
            yield from _settings(kind, f"{path}{name}.", default or {})
            continue
        shown = re.sub(r"\b(pipelines[\w.]*|typing|pathlib)\.", "", str(kind)).replace("<class '", "").replace("'>", "")
        yield f"{path}{name}", {"type": shown, "default": "none" if default is None else json.dumps(default)}
        for each in inner:
            yield from _settings(each, f"{path}{name}[].", {})


def commands(_folder: Path) -> Facts:
    """Return of each command its help, and its exit codes for --help and an unknown option."""
    found: Facts = {}
    root = typer.main.get_command(app)
    for path, _ in _paths(root, "ordermart"):
        text, helped = _said(root, [*path.split()[1:], "--help"])
        _, unknown = _said(root, [*path.split()[1:], "--no-such-option"])
        found[path] = {"--help exit": helped, "unknown option exit": unknown, "help": text}
    return found


def _said(root: Any, words: list[str]) -> tuple[str, str]:
    """Run a command that only prints, 80 columns wide; return the text and the exit code."""
    out, before = io.StringIO(), dict(os.environ)
    os.environ.update(TERM="dumb")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            root.main(words, prog_name="ordermart", terminal_width=80)
        code: object = 0
    except SystemExit as ended:
        code = ended.code
    finally:
        os.environ.clear()
        os.environ.update(before)
    lines = out.getvalue().strip("\n").splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines), str(code)


def exits(folder: Path) -> Facts:
    """Return the exit code of each command without arguments in an empty folder."""
    (folder / "ordermart.toml").write_text('[partner]\nbase_url = "http://127.0.0.1:9"\n[notify]\nmin_free_gb = 0\n')
    paths = [path for path, is_group in _paths(typer.main.get_command(app), "ordermart") if not is_group]
    return {
        path: {"exit": str(run(folder, path.split()[1:], "ordermart.toml"))} for path in paths if path not in NOT_RUN
    }


def on_demo(folder: Path, order_id: int) -> Facts:
    """Return the exit codes of commands on the data of a demo, which they change."""
    found: Facts = {}
    for number, command in enumerate(ON_DEMO, 1):  # by number, as some are there twice
        words = [word.format(folder=folder, order=order_id) for word in command.split()]
        found[f"command {number:02d} ordermart {command}"] = {"exit": str(run(folder, words, "data/demo.toml"))}
    return found


def run(folder: Path, words: list[str], config: str) -> int:
    """Run a command with settings of a folder; return its exit code."""
    environ = {name: text for name, text in os.environ.items() if not name.startswith("ORDERMART_")}
    environ |= {"ORDERMART_CONFIG": str(folder / config), "ORDERMART_VERIFY__SECONDS": "0"}
    return forked.ordermart(tuple(words), environ, timeout=900, folder=folder).returncode


def _paths(command: Any, path: str) -> Iterator[tuple[str, bool]]:
    inner = getattr(command, "commands", {})
    yield path, bool(inner)
    for name in sorted(inner):
        yield from _paths(inner[name], f"{path} {name}")
