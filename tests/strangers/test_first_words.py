"""The first errors that a stranger meets: each names what failed and what to do."""

from __future__ import annotations

import duckdb
import pytest
from typer.testing import CliRunner

from pipelines.cli import app
from pipelines.report.outcomes import _unnamed
from pipelines.settings import load_settings
from pipelines.vault import VaultError, read_keys


def test_without_settings_the_first_command_is_named() -> None:
    """Nothing is configured: demo and init are the way in; with a client_id it is the key that is missing."""
    with pytest.raises(VaultError, match=r"ordermart demo.*ordermart init"):
        read_keys(load_settings(environ={}))
    with pytest.raises(VaultError, match="set ORDERMART_VAULT__MASTER_KEY"):
        read_keys(load_settings(environ={"ORDERMART_PARTNER__CLIENT_ID": "shop"}))


def test_an_order_id_that_is_no_number_is_quoted() -> None:
    """The message says what an order id is."""
    said = CliRunner().invoke(app, ["explain", "order", "abc"])
    assert said.exit_code == 2
    assert "'abc' is not an order id (a whole number)" in said.output


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, "No status counts as a sale: name them in [sales]"),
        ({"ORDERMART_SALES__COUNTED_STATUSES": '["done"]'}, "None of the statuses in [sales] counted_statuses"),
    ],
)
def test_statuses_that_do_not_occur_are_no_missing_ones(environ: dict[str, str], said: str) -> None:
    """With statuses in the settings the line says that none of them occurs, and which do."""
    with duckdb.connect() as db:
        db.execute("create schema mart")
        db.execute("create table mart.orders as select 'new' as status, 'unmapped' as sale_class, 'EUR' as currency")
        (line,) = _unnamed(db, load_settings(environ=environ).sales)
    assert line.startswith(said)
    assert line.endswith("Seen: new 1")
