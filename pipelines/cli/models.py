"""`ordermart models`: the user's own tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.options import group, leave, prepared, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.settings import Settings
    from pipelines.warehouse.own.trying import Tried

app = group("Write and try tables of your own: own.<name>.")


@app.command("new", short_help="Write a model to begin with.")
@prepared
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The table's name; the file is NAME.sql.")],
    *,
    settings: Settings,
) -> None:
    """Write NAME.sql, with its head, into [models] dir: change it, and try it with `ordermart models check`.

    Exit codes: 0 written; 2 there is one of this name, or it is no name of a table.
    """
    from pipelines.warehouse.own.trying import new_model

    say([f"Wrote {new_model(settings, name)}: edit it, then `ordermart models check`."])


@app.command("check", short_help="Make every model of the last days.")
@prepared
def check(*, settings: Settings) -> None:
    """Make every model of the last three days of the current release, and name problems and types of columns.

    Nothing is published. Exit codes: 0 all are right; 2 invalid settings, or there is no release; 3 some are wrong.
    """
    from pipelines.warehouse.own.trying import check_models

    _show(check_models(settings), "right")


@app.command("test", short_help="Run models on the rows of their .test.txt files.")
@prepared
def run_tests(*, settings: Settings) -> None:
    """Run each model that has NAME.test.txt beside it on the rows given there, and compare with those expected.

    Exit codes: 0 all rows are as expected; 2 invalid settings; 3 some are not.
    """
    from pipelines.warehouse.own.trying import run_tests as tried

    _show(tried(settings), "as expected")


def _show(found: list[Tried], good: str) -> None:
    say(_lines(found, good))
    leave(is_open=any(each.wrong for each in found))


def _lines(found: list[Tried], good: str) -> Iterator[str]:
    from pipelines.literals import one_line as plain

    for each in found:
        yield f"{each.name}: {plain(each.wrong) if each.wrong else good}"
        yield from (f"  {plain(line)}" for line in each.said)
    if not found:
        yield "There is none: `ordermart models new NAME` writes one."
