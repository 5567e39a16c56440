"""The commands about where documents come from: init, land, source, webhooks, sandbox."""

from __future__ import annotations

import os
import sys
import tomllib
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.cli.options import Commands, Locked, group, leave, say, usage_error
from pipelines.sandbox.__main__ import serve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pipelines.ledger.decisions import User
    from pipelines.settings import Settings

app = Commands()
files_app = group(app, "land", "Land documents from files, validated like fetched ones.")
source_app = group(app, "source", "Follow a partner service to another address.")
webhooks_app = group(app, "webhooks", "Receive webhooks; list and reprocess undecodable ones.")
sandbox_app = group(app, "sandbox", "Run the sandbox, a stand-in partner service.")
sandbox_app.command("serve", short_help="Serve a generated partner service on loopback.")(serve)


def _add_command(kind: str, documents: str) -> None:
    """Add the command that lands files of one kind."""

    @files_app.command(
        kind,
        help=f"Land {documents} from files supplied by the partner.\n\nExit codes: 0 landed; 1 a file cannot be read; "
        "2 invalid settings or usage; 3 every document was rejected; 4 another process holds the run lock.",
    )
    def land(
        files: Annotated[
            list[Path],
            typer.Argument(
                help="Files or quoted patterns, also gzipped. One menu per file; stores, orders: a JSON array, or one "
                "per line."
            ),
        ],
        *,
        observed_at: Annotated[
            datetime | None,
            typer.Option(
                help="When the service returned these documents, UTC. Without it they never replace a fetched one."
            ),
        ] = None,
        observed_at_pointer: Annotated[
            str, typer.Option(metavar="PTR", help="JSON pointer to that time in each document, such as /exported_at.")
        ] = "",
        documents_pointer: Annotated[
            str,
            typer.Option(metavar="PTR", help="JSON pointer to the documents inside a wrapper, such as /data/orders."),
        ] = "",
        backfill: Annotated[
            bool,
            typer.Option("--backfill", help="Land a long archive in parts: resumes after a kill, raises no alarms."),
        ] = False,
        settings: Settings,
        locked: Locked,
    ) -> None:
        from pipelines.landing import Asked, land_files
        from pipelines.landing import backfill as land_in_parts
        from pipelines.report.outcomes import backfilled, landed
        from pipelines.vault import open_vault

        asked = Asked(files, observed_at, observed_at_pointer, documents_pointer)
        if observed_at and observed_at_pointer:
            raise usage_error("--observed-at and --observed-at-pointer exclude each other: give one of them")
        with locked(f"ordermart land {kind}") as progress, open_vault(settings) as vault:
            if backfill:
                done = land_in_parts(settings, vault, kind, asked, progress=progress)
                say(backfilled(done))
                verdicts: Mapping[str, int] = done.verdicts
            else:
                summary = land_files(settings, vault, kind, asked, progress)
                say(landed(summary))
                verdicts = summary.counts
        # What was landed before, and skipped now, has no verdict.
        good = verdicts.get("accepted") or verdicts.get("unchanged")
        leave(is_open=verdicts.get("quarantined") and not good)


for _kind, _documents in {"orders": "orders", "menus": "menus", "stores": "store records"}.items():
    _add_command(_kind, _documents)


@files_app.command("reprocess", short_help="Validate quarantined documents again.")
def land_reprocess(*, settings: Settings, locked: Locked) -> None:
    """Validate quarantined documents again, and restore fields that settings have since allowed in plain text."""
    from pipelines.landing import reprocess_quarantine
    from pipelines.report.outcomes import landed
    from pipelines.vault import open_vault

    with locked("ordermart land reprocess"), open_vault(settings) as vault:
        summaries = reprocess_quarantine(settings, vault)
    if not summaries:
        typer.echo("There is nothing to reprocess.")
    for summary in summaries:
        say(landed(summary))


@source_app.command("move", short_help="Accept another address of the same service.")
def source_move(
    old: Annotated[str, typer.Argument(metavar="OLD", help="Address that the data came from.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Address now in [partner] base_url.")],
    *,
    user: User,
    settings: Settings,
) -> None:
    """Accept NEW as the address of the service that the data came from, after comparing documents of both.

    The newest ten documents of each kind are requested at NEW and OLD. Those at NEW must have the id, store and
    creation that are held; OLD may be gone. The move is recorded in the ledger.

    Exit codes: 0 moved; 1 NEW is another service, nothing is changed; 2 the settings or the data name other addresses.
    """
    from pipelines.ingest.source_move import move_source

    done = move_source(settings, old, new, user)
    typer.echo(f"Moved: {new} has {done.at_new} of {done.held} documents as held; {old} answers {done.at_old}.")


@webhooks_app.command("serve")
def webhooks_serve(
    *,
    host: Annotated[str, typer.Option(help="Address to listen on; default: [webhooks] host.")] = "",
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port, 0 for any free one; default: [webhooks] port."),
    ] = None,
    settings: Settings,
) -> None:
    """Receive webhook deliveries until stopped (Ctrl-C or SIGTERM).

    Run it as a process of its own. A delivery is answered with 2xx only once it is on the disk; the next run, or the
    sensor of `ordermart dev` within a minute, fetches the document that it names.
    """
    from pipelines.inbox.receiver import serve_webhooks
    from pipelines.run.under_way import keep_looking

    keep_looking(settings)
    serve_webhooks(settings, host or None, port)


@webhooks_app.command("undecodable")
def webhooks_undecodable(*, settings: Settings) -> None:
    """List undecodable deliveries, without their bodies.

    Each has its number, time, reason, and whether its body is kept in the vault.
    """
    from pipelines.inbox.deliveries import undecodable
    from pipelines.inbox.store import inbox_path
    from pipelines.report.outcomes import undecodable_list

    say(undecodable_list(undecodable(inbox_path(settings.data_dir))))


@webhooks_app.command("reprocess", short_help="Decode undecodable deliveries again.")
def webhooks_reprocess(*, settings: Settings) -> None:
    """Decode undecodable deliveries again, after a correction of [webhooks].

    The ids of those that can now be decoded are put on the work list.
    """
    from pipelines.inbox.deliveries import reprocess_deliveries
    from pipelines.inbox.store import inbox_path
    from pipelines.report.outcomes import reprocessed
    from pipelines.vault import open_vault

    with open_vault(settings) as vault:
        typer.echo(
            reprocessed(*reprocess_deliveries(settings.webhooks, inbox_path(settings.data_dir), vault.refused.body))
        )


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
