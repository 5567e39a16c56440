"""Every command that a document names exists, with its options; tests/report runs those of the blocks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer._click import Context
from typer._click.exceptions import UsageError

from pipelines.cli import app
from pipelines.settings import SettingsError, load_settings
from tests.documents import Command, commands, documents

ROOT = Path(__file__).resolve().parents[2]
ORDERMART = typer.main.get_command(app)
COMMANDS = [command for document in documents(ROOT) for command in commands(document)]


def fault(command: Command, project: Path = ROOT) -> str:
    """Return why a command cannot be run as it is written, "" if it can."""
    program, *words = command.words
    if program == "ordermart":
        about = words in (["--help"], ["--version"])
        return "" if about else ordermart_fault(ORDERMART, words, is_whole=command.is_block)
    if program == "make":
        targets = re.findall(r"^([a-z-]+):", (project / "Makefile").read_text("utf-8"), re.MULTILINE)
        return "" if words[0] in targets else f"the Makefile has no target {words[0]}"
    return python_fault(words, project)


def ordermart_fault(command: Any, words: list[str], *, is_whole: bool) -> str:
    """Return the answer of the command's own parser; a command only named in a sentence may lack values."""
    try:
        while hasattr(command, "commands") and words:
            context = Context(command)
            command.parse_args(context, list(words))
            words = [*context._protected_args, *context.args]
            if words and words[0] not in command.commands:
                return f"there is no command {words[0]}"
            command, words = command.commands[words[0]] if words else command, words[1:]
        if hasattr(command, "commands"):
            return "names a group, not a command" if is_whole else ""
        given, surplus, _ = command.make_parser(Context(command)).parse_args(list(words))
    except UsageError as error:
        return "" if "requires an argument" in error.message and not is_whole else error.message
    stated = {name for name, value in given.items() if value and isinstance(value, str | list | tuple)}
    needed = [each.name for each in command.params if each.required and each.name not in stated]
    if surplus or (needed and is_whole):
        return f"unexpected {surplus}" if surplus else f"lacks {needed}"
    return ""


def python_fault(words: list[str], project: Path) -> str:
    """Return which file or option of a Python program does not exist."""
    if words[:2] == ["-m", "pytest"]:
        paths = [word.partition("::")[0] for word in words[2:] if word.startswith("tests/")]
        return next((f"there is no {path}" for path in paths if not (project / path).exists()), "")
    if words[0] == "-I" or (words[0] == "-m" and words[1] in {"venv", "http.server"}):
        return ""  # a file of an audit pack; the standard library
    file = project / (f"{words[1].replace('.', '/')}.py" if words[0] == "-m" else words[0])
    package = file.with_suffix("") / "__main__.py"
    if not file.exists() and not package.exists():
        return f"there is no {words[1] if words[0] == '-m' else words[0]}"
    source = (file if file.exists() else package).read_text("utf-8")
    if file.name == "bootstrap.py":
        verbs = [word for word in words[1:2] if f'"{word}"' not in source]
        return f"bootstrap.py has no {verbs[0]}" if verbs else ""
    options = [word for word in words if word.startswith("--") and f'"{word}"' not in source]
    return f"{file.name} has no option {options[0]}" if options else ""


def test_documents_have_commands() -> None:
    """The blocks of README, FINANCE and OPERATIONS, and the sentences of the others, are read."""
    assert {"README.md", "FINANCE.md", "OPERATIONS.md"} <= {each.document for each in COMMANDS if each.is_block}
    assert len(COMMANDS) > 100


def test_every_documented_command_exists_with_its_options() -> None:
    """A command or an option that was renamed is renamed in the documents."""
    assert [f"{each.document}: {each.text}: {fault(each)}" for each in COMMANDS if fault(each)] == []


def unknown_settings(text: str) -> list[str]:
    """Return the environment variables of a text that are no settings."""
    found = []
    for name in sorted(set(re.findall(r"ORDERMART_[A-Z]+__[A-Z_]+", text))):
        try:
            load_settings(ROOT / "ordermart.toml", {name: "x"})
        except SettingsError as error:
            found += [name] if "is not a setting" in str(error) else []
    return found


def test_documented_environment_variables_are_settings() -> None:
    """A setting that was renamed is renamed where documents set it by the environment."""
    texts = "".join(document.read_text(encoding="utf-8") for document in documents(ROOT))
    assert unknown_settings(texts) == []
    assert unknown_settings("export ORDERMART_PARTNER__CLIENT_KEY=…") == ["ORDERMART_PARTNER__CLIENT_KEY"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ordermart clos 2026-10-31", "no command clos"),
        ("ordermart close 2026-10-31 --shop 12", "No such option: --shop"),
        ("ordermart explain order", "lacks ['order_id']"),
        ("ordermart explain order 1 2", "unexpected ['2']"),
        ("ordermart reconcile --from", "requires an argument"),
        ("ordermart close", "names a group"),
        ("make tset", "no target tset"),
        ("python3 bootstrap.py go", "has no go"),
        ("python benchmarks/questions.py --limits 1", "no option --limits"),
        ("python benchmarks/question.py", "no benchmarks/question.py"),
        ("python -m pytest tests/sql/test_order.py::test_name", "no tests/sql/test_order.py"),
    ],
)
def test_a_wrong_command_is_found(text: str, found: str) -> None:
    """Each kind of command that does not exist as written is seen."""
    assert found in fault(Command("README.md", text, is_block=True))
