"""Write docs/COMMANDS.md out of the commands' own help: `python docs/commands.py`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pipelines.cli import app

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = Path(__file__).resolve().with_name("COMMANDS.md")
HEAD = """\
# Commands

Every command with its options, out of its own help: do not edit, run `python docs/commands.py`. Every command takes
`--help`, and `--config FILE`, which may also stand before the command: `ordermart --config FILE run`.
"""
_VALUES = {"int": "N", "int range": "N", "float range": "SHARE", "str": "TEXT", "path": "FILE", "%y-%m-%d": "DAY",
           "datetime": "TIME"}  # fmt: skip
_SHARED = {"--config", "--help"}


def reference() -> str:
    """Return the reference of all commands."""
    leaves = list(_leaves(typer.main.get_command(app), "ordermart"))
    names = "\n".join(f"- [`{path}`](#{path.replace(' ', '-')}): {_first(command)}" for path, command in leaves)
    return "\n".join([HEAD, names, *("\n".join(_section(path, command)) for path, command in leaves)]) + "\n"


def _leaves(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if not inner:
        yield path, command
    for name in sorted(inner or {}):
        yield from _leaves(inner[name], f"{path} {name}")


def _section(path: str, command: Any) -> Iterator[str]:
    yield f"\n## {path}\n"
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    words = [(each.metavar or each.name.upper()).strip("[]") for each in arguments]
    shown = [word if each.required else f"[{word}]" for word, each in zip(words, arguments, strict=True)]
    yield "```\n" + " ".join([path, *shown, "[OPTIONS]"]) + "\n```\n"
    yield _text(command.help)
    options = [each for each in command.params if each.param_type_name == "option" and not _SHARED & set(each.opts)]
    options = [each for each in options if not each.hidden]
    rows = [
        *((word, getattr(each, "help", "")) for word, each in zip(words, arguments, strict=True)),
        *((" ".join([*each.opts[:1], *_value(each)]), _help(each)) for each in options),
    ]
    if rows:
        yield "\n| option | does |\n|---|---|"
        yield "\n".join(f"| `{name}` | {_cell(text)} |" for name, text in rows)


def _value(option: Any) -> list[str]:
    if option.is_flag:
        return []
    kind = option.display_type(None).strip("<>[]")
    return [option.metavar or _VALUES.get(kind.lower(), kind.upper())]


def _help(option: Any) -> str:
    default = option.default
    has_default = not option.is_flag and isinstance(default, str | int | float) and default not in {"", None}
    return f"{option.help} Default: {default}." if has_default else option.help or ""


def _first(command: Any) -> str:
    return _cell((command.help or "").partition("\n")[0])


def _text(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", text or ""))


def _cell(text: str) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


if __name__ == "__main__":
    FILE.write_text(reference(), encoding="utf-8")
