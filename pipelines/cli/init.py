"""`ordermart init`: write the settings file for a service, or complete one."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.cli.options import leave, say, usage_error

if TYPE_CHECKING:
    from collections.abc import Iterator

app = typer.Typer()
_FLAGS = {"partner.base_url": "--base-url", "partner.client_id": "--client-id", "--stores": "--stores N"}
_LISTS = {"sales.counted_statuses", "sales.excluded_statuses", "partner.store.menu_id_pointers"}


@app.command(short_help="Find out how a service answers, and write its settings.")
def init(
    file: Annotated[
        Path, typer.Argument(dir_okay=False, help="Settings file to write or complete, such as shop.toml.")
    ],
    *,
    base_url: Annotated[str, typer.Option(metavar="URL", help="Address of the service; asked for if left out.")] = "",
    client_id: Annotated[str, typer.Option(help="The client_id; asked for if left out.")] = "",
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="An answer, such as list_stores.path=/stores."),
    ] = None,
    order_id: Annotated[int, typer.Option(metavar="ID", help="An order: it decides which number is a store's id.")] = 0,
    order_ids: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="File of order ids; their statuses propose sales.")
    ] = None,
    stores: Annotated[int, typer.Option(metavar="N", help="How many stores there are, if the list does not say.")] = 0,
) -> None:
    """Find out how a service answers, prove it, and write a settings file, the vault's keys and the client secret.

    Requests a token, stores, menus and the orders named; sends the secret at most four times. On a file that exists it
    fills in only what does not work. Each answer has its evidence as a comment; what cannot be proven is asked for.

    Exit codes: 0 written, and proven; 2 an answer is missing or invalid; 3 written, with something still open.
    """
    from pipelines.examining.first import Given, make_settings
    from pipelines.ingest.plan import ids_of_file

    answers = dict(_pairs(sets or []))
    answers |= {
        key: value for key, value in (("partner.base_url", base_url), ("partner.client_id", client_id)) if value
    }
    orders = [*([order_id] if order_id else []), *(ids_of_file(order_ids) if order_ids else ())]

    def ask(key: str, question: str) -> str:
        if key in answers:
            return str(answers[key])
        if not sys.stdin.isatty():
            flag = _FLAGS.get(key, f"--set {key}=…")
            variable = "" if key.startswith("--") else f"ORDERMART_{key.upper().replace('.', '__')}"
            given = " or ".join(each for each in ("" if key == "partner.client_secret" else flag, variable) if each)
            raise usage_error(f"{question}: there is no terminal to ask on; give {given}")
        is_secret = key == "partner.client_secret"
        return str(typer.prompt(question, default="", show_default=False, hide_input=is_secret))

    lines, is_proven = make_settings(file, Given(answers, tuple(orders), stores), ask, dict(os.environ))
    say(lines)
    leave(is_open=not is_proven)


def _pairs(sets: list[str]) -> Iterator[tuple[str, Any]]:
    for each in sets:
        key, sign, value = each.partition("=")
        if not sign:
            raise usage_error(f"--set {each}: write KEY=VALUE")
        known = key if key.split(".")[0] in {"partner", "business_day", "finance", "sales"} else f"partner.{key}"
        try:
            yield known, tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            yield known, [word.strip() for word in value.split(",")] if known in _LISTS else value
