"""Share what several commands need: options, settings, the run lock, output without control characters, and errors.

A command names what it needs as parameters, and `Commands` gives it: typer is shown the options instead.

    def close(day: str, settings: Settings, user: User) -> None: …
    is to typer  close(day: str, config: Path | None, name: str)  with the options --config and --as

Nothing but typer is imported until a command runs, so that `--help` answers at once. Text of the partner's may hold
escape sequences, which would colour, hide or retype what a person reads: output is plain text, line by line.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO, cast

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipelines.settings import Settings

_FILE = "Settings file; default: ORDERMART_CONFIG, else ordermart.toml of the checkout or this folder."
Config = Annotated[Path | None, typer.Option("--config", help=_FILE)]
As = Annotated[str, typer.Option("--as", metavar="NAME", help="Your name, recorded beside the system's user.")]
Since = Annotated[str, typer.Option("--from", metavar="DAY", help="First business day, e.g. 2026-10-01.")]
Until = Annotated[str, typer.Option("--to", metavar="DAY", help="Last business day (inclusive).")]
Progress = Callable[[str, int, int], None]  # the task, how much is done, and of how much
Locked = Callable[[str], AbstractContextManager[Progress]]
_OPTIONS = {"settings": ("config", Config, None), "user": ("name", As, "")}


class Commands(typer.Typer):
    """Commands, each a function that names what it needs, and is given that.

    Its parameter `settings` becomes the option --config, `user` becomes --as; `locked(holder)` holds the run lock in a
    with statement, and shows progress on a terminal meanwhile. The last two come with `settings`.
    """

    def command(self, name: str | None = None, **options: Any) -> Callable[..., Any]:
        """Add a command."""
        add = super().command(name, **options)
        return lambda function: add(_prepared(function))


def _prepared(command: Callable[..., None]) -> Callable[..., None]:
    wanted = inspect.signature(command, locals=dict.fromkeys(("Settings", "User", "Locked"), Any), eval_str=True)
    if "settings" not in wanted.parameters:
        return command
    parameters = []
    for name, parameter in wanted.parameters.items():
        if name in _OPTIONS:
            option, kind, default = _OPTIONS[name]
            parameters.append(inspect.Parameter(option, parameter.KEYWORD_ONLY, default=default, annotation=kind))
        elif name != "locked":
            parameters.append(parameter)

    @functools.wraps(command)
    def call(**values: Any) -> None:
        settings = values["settings"] = load_settings(values.pop("config"))
        if "user" in wanted.parameters:
            from pipelines.ledger.entries import current_user

            values["user"] = current_user(values.pop("name"))
        if "locked" in wanted.parameters:
            values["locked"] = functools.partial(_locked, settings)
        from pipelines.durable import naming_a_full_disk

        with naming_a_full_disk(settings.data_dir):
            command(**values)

    del call.__wrapped__  # typer reads the options of this function, not of that one
    call.__signature__ = wanted.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return call


@contextmanager
def _locked(settings: Settings, holder: str) -> Iterator[Progress]:
    from pipelines.ingest.lock import run_lock
    from pipelines.report.text import terminal_progress

    with run_lock(settings.data_dir, holder), terminal_progress() as progress:
        yield progress


def load_settings(config: Path | None) -> Settings:
    """Load the settings of a command; see `pipelines.settings.load_settings`. Those of a demo are at its time."""
    from pipelines.settings import load_settings as load

    settings = load(config)
    if settings.file.name == "demo.toml":
        from pipelines.clock import follow

        follow(settings.data_dir / "sandbox" / "world.json")
    return settings


def group(app: Commands, name: str, help_text: str) -> Commands:
    """Add a group of commands, and return it; its callback keeps a single command from replacing the group."""
    made = Commands(help=help_text, no_args_is_help=True)
    made.callback()(lambda: None)
    app.add_typer(made, name=name)
    return made


def usage_error(message: str) -> Exception:
    """Return the error for arguments that are invalid together; its exit code is 2."""
    from pipelines.settings import SettingsError

    return SettingsError(message)


def given(option: str, text: str, noun: str = "reason") -> str:
    """Return what an option was given, stripped; raise a usage error if nothing is left."""
    if not text.strip():
        raise usage_error(f"{option}: the {noun} is empty")
    return text.strip()


def say(lines: Iterable[str]) -> None:
    """Print lines; a character that the terminal's encoding lacks becomes a question mark."""
    stream = cast("TextIO", sys.stdout)
    encoding = stream.encoding or "utf-8"
    for line in lines:
        typer.echo(line.encode(encoding, "replace").decode(encoding))


def leave(*, is_open: object, has_failed: object = False) -> NoReturn:
    """Exit with the code for what a command found."""
    from pipelines.record import code_of

    raise typer.Exit(code_of(is_open=is_open, has_failed=has_failed))


def end(sentence: str, code: int) -> NoReturn:
    """Print the sentence of an error on standard error and exit with this code."""
    typer.echo(f"ordermart: {sentence}", err=True)
    sys.exit(code)


class PlainText:
    """A stream that replaces control characters; `terminal` is the one beneath, for our own progress.

    All but writing is the other one's; that has no `buffer` here, which would take characters past this.
    """

    def __init__(self, terminal: TextIO) -> None:
        self.terminal = terminal

    def write(self, text: str) -> int:
        """Write a text without control characters; return how long it was."""
        from pipelines.literals import replaced

        self.terminal.write(replaced(text, "\n\t"))
        return len(text)

    def writelines(self, texts: Iterable[str]) -> None:
        """Write texts one by one."""
        for text in texts:
            self.write(text)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self.terminal, name)


def write_plain_text() -> None:
    """Let this process write plain text only: output, logs and tracebacks."""
    sys.stdout, sys.stderr = (cast("TextIO", PlainText(stream)) for stream in (sys.stdout, sys.stderr))
