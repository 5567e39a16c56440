"""Every command and option has a help text, printed as written, and the reference has every command."""

from __future__ import annotations

import ast
import importlib.util
import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def root() -> Any:
    """Return the command tree of `ordermart`."""
    main = pytest.importorskip("typer.main", reason="typer is not installed")
    cli = pytest.importorskip("pipelines.cli", reason="pipelines/cli is not there", exc_type=ModuleNotFoundError)
    return main.get_command(cli.app)


def commands(command: Any, path: str = "ordermart") -> Iterator[tuple[str, Any]]:
    """Give a command and all commands below it, with their words."""
    yield path, command
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        yield from commands(inner, f"{path} {name}")


def silent(command: Any) -> list[str]:
    """Return the commands and options that say nothing of themselves."""
    found = []
    for path, inner in commands(command):
        if not (inner.help or "").strip():
            found.append(path)
        # An argument is explained by its command's help when it has none of its own.
        options = (parameter for parameter in inner.params if parameter.param_type_name == "option")
        found.extend(f"{path} {option.opts[0]}" for option in options if not (option.help or "").strip())
    return found


def test_every_command_says_what_it_is_for(root: Any) -> None:
    """No command and no option is without a help text."""
    assert silent(root) == []


def test_a_silent_command_is_found() -> None:
    """A command and an option without a text are both named."""
    typer = pytest.importorskip("typer")
    app = typer.Typer(help="An app.")

    @app.command()
    def mute(*, loud: bool = False) -> None: ...

    @app.command()
    def told() -> None:
        """Say it."""

    found = silent(typer.main.get_command(app))
    assert "ordermart mute" in found
    assert "ordermart mute --loud" in found
    assert "ordermart told" not in found


def test_the_reference_is_current(project: Path) -> None:
    """docs/COMMANDS.md has the commands' help."""
    spec = importlib.util.spec_from_file_location("commands", project / "docs" / "commands.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (project / "docs" / "COMMANDS.md").read_text(encoding="utf-8")
    assert text == module.reference(), "run `python docs/commands.py`"


def test_documents_name_every_command(root: Any, project: Path) -> None:
    """The reference has every command; the README names none that does not exist, and links the reference."""
    text = (project / "docs" / "COMMANDS.md").read_text(encoding="utf-8")
    leaves = [path for path, command in commands(root) if not getattr(command, "commands", None)]
    assert [path for path in leaves if f"## {path}\n" not in text] == []
    readme = (project / "README.md").read_text(encoding="utf-8")
    known = {path for path, _ in commands(root)}
    named = re.findall(r"`ordermart ((?:[a-z-]+ ?)+)", readme)
    assert [
        name for name in named if not any(f"ordermart {name}".startswith(path) for path in known - {"ordermart"})
    ] == []
    assert "](docs/COMMANDS.md)" in readme


def swallowed(app: Any) -> list[str]:
    """Return the words in brackets, such as [webhooks], of help texts that `--help` does not print."""
    typer, testing = pytest.importorskip("typer"), pytest.importorskip("typer.testing")
    found = []
    for path, command in commands(typer.main.get_command(app)):
        options = (parameter for parameter in command.params if parameter.param_type_name == "option")
        texts = [command.help or "", *(option.help or "" for option in options)]
        words = {word for text in texts for word in re.findall(r"\[[a-z_.]+\]", text)}
        if words:
            printed = testing.CliRunner().invoke(app, [*path.split()[1:], "--help"], terminal_width=200).stdout
            found.extend(f"{path}: {word}" for word in sorted(words) if word not in printed)
    return found


def test_help_prints_the_names_of_settings_tables() -> None:
    """`--help` shows [webhooks] and other words in brackets, which Rich's markup would drop."""
    assert swallowed(pytest.importorskip("pipelines.cli").app) == []


def test_a_swallowed_word_is_found() -> None:
    """With Rich's markup a word in brackets is lost, and named."""
    typer = pytest.importorskip("typer")
    app = typer.Typer(rich_markup_mode="rich")

    @app.command()
    def serve() -> None:
        """Listen where [webhooks] says."""

    assert swallowed(app) == ["ordermart: [webhooks]"]


def cut(app: Any) -> list[str]:
    """Return the lines of a group's `--help`, 80 columns wide, in which a command's sentence is cut."""
    typer, testing = pytest.importorskip("typer"), pytest.importorskip("typer.testing")
    found = []
    for path, command in commands(typer.main.get_command(app)):
        if getattr(command, "commands", None):
            printed = testing.CliRunner().invoke(app, [*path.split()[1:], "--help"], terminal_width=80).stdout
            found += [
                line
                for line in printed.partition("Show this message and exit.")[2].splitlines()
                if line.endswith("...")
            ]
    return found


def test_lists_of_commands_cut_no_sentence() -> None:
    """A list of commands has a whole sentence for each: a short one where its help starts with a long one."""
    assert cut(pytest.importorskip("pipelines.cli").app) == []


def test_a_cut_sentence_is_found() -> None:
    """A sentence that is longer than a line is cut in the list, and found."""
    app = pytest.importorskip("typer").Typer(rich_markup_mode=None)

    @app.command()
    def serve() -> None:
        """Serve whatever was asked for by anybody to whom it may concern, until somebody stops it by a signal."""

    @app.command()
    def stop() -> None:
        """Stop."""

    (line,) = cut(app)
    assert line.strip().startswith("serve")


def test_every_command_is_in_one_group_of_the_help(root: Any) -> None:
    """`ordermart --help` lists every command once, below a heading."""
    cli = pytest.importorskip("pipelines.cli")
    listed = " ".join(cli.GROUPS.values()).split()
    assert sorted(listed) == sorted(root.commands)
    testing = pytest.importorskip("typer.testing")
    said = testing.CliRunner().invoke(cli.app, ["--help"]).output
    assert re.findall(r"^(\w.*):$", said, re.MULTILINE) == ["Options", *cli.GROUPS]
    assert re.findall(r"^  ([a-z][a-z-]+)  +[A-Z]", said, re.MULTILINE) == listed


def numbered_exits(source: str) -> list[int]:
    """Return the lines that exit with a number of their own."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in {"Exit", "exit", "SystemExit"}
        and any(isinstance(each, ast.Constant) and isinstance(each.value, int) for each in ast.walk(node))
    ]


@pytest.mark.slow
def test_exit_codes_are_decided_in_one_place(project: Path) -> None:
    """No command has a number of its own; the sandbox's server is no command."""
    files = sorted(file for file in (project / "pipelines").rglob("*.py") if file.name != "__main__.py")
    assert [f"{file.name}:{line}" for file in files for line in numbered_exits(file.read_text("utf-8"))] == []
    planted = "raise typer.Exit(3 if found else 0)\nsys.exit(1)\nend('why', code)\nraise typer.Exit"
    assert numbered_exits(planted) == [1, 2]
