"""The commands of the vault: values come from standard input, every access is recorded without personal data."""

from __future__ import annotations

import datetime as dt
import io
import json
import sys
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from pipelines import cli
from pipelines.inventory import read_inventory
from pipelines.landing.raw_folder import raw_files
from pipelines.ledger import LedgerError, ledger_of
from pipelines.privacy import reveal
from pipelines.run.steps import run_maintenance
from pipelines.settings import load_settings
from pipelines.vault import VaultError, open_vault
from tests.long_ledger import entries_read, lengthen
from tests.privacy.conftest import ANN, BOB, EMAIL, World, person

if TYPE_CHECKING:
    from collections.abc import Callable

    Command = Callable[..., tuple[int, str]]

KEYS = "select order_id, customer_key from mart.orders order by all"


@pytest.fixture
def command(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return a function that runs a command with a text as standard input: exit code, and all that it printed."""

    def run(*arguments: str, text: str = "") -> tuple[int, str]:
        for name, value in world.environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["ordermart", "vault", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out + printed.err

    return run


@pytest.mark.slow
def test_reveal_reads_few_entries_of_a_long_ledger(world: World) -> None:
    """As many at 10,000 entries as at 100; a last entry that was changed is noticed all the same."""
    read = []
    for length in (100, 10_000):
        lengthen(world.settings, length)
        read.append(entries_read(lambda: reveal(world.settings, 2, "the courier asks")))
    assert read[0] == read[1] <= 10
    file = world.data / "ledger" / "ledger.jsonl"
    file.write_bytes(file.read_bytes().replace(b"the courier asks", b"the courier aske"))
    with pytest.raises(LedgerError, match="was changed after it was written"):
        reveal(world.settings, 2, "again")


def test_reveal_shows_an_order_and_records_who_saw_it(world: World, command: Command) -> None:
    """The reason and the system's user are in the ledger, the data is not; an empty reason shows nothing."""
    code, printed = command("reveal", "order", "2", "--reason", "the courier asks", "--as", "Kim")
    assert (code, json.loads(printed)["/user_phone"]) == (0, BOB)
    (entry,) = ledger_of(world.data).entries()
    assert (entry.act, entry.body["order_id"], entry.body["reason"]) == ("revealed", 2, "the courier asks")
    assert (entry.body["as"], "uid" in entry.body) == ("Kim", True)
    assert command("reveal", "order", "2", "--reason", " ")[0] == 2
    assert command("reveal", "order", "77", "--reason", "x") == (
        1,
        "ordermart: the vault holds no personal data of order 77\n",
    )
    assert len(list(ledger_of(world.data).entries())) == 1


def test_export_prints_every_version_of_a_person(world: World, command: Command) -> None:
    """All documents of the customer and nobody else's, as JSON; the entry counts them."""
    code, printed = command("export", "--email", text=f" {EMAIL.upper()} \n")
    found, _ = json.JSONDecoder().raw_decode(printed)  # what was found is on standard error
    assert (code, found["customer_count"], found["order_ids"]) == (0, 1, [1, 3])
    assert {each["fields"]["/user_phone"] for each in found["personal_data"]} == {ANN}
    (entry,) = ledger_of(world.data).entries()
    assert (entry.act, entry.body["version_count"]) == ("exported", 2)
    assert EMAIL not in (world.data / "ledger" / "ledger.jsonl").read_text("utf-8")


@pytest.mark.parametrize("arguments", [[], ["--phone", "--email"], ["--phone", "--order-id", "1"]])
def test_exactly_one_way_to_find_a_person_is_given(command: Command, arguments: list[str]) -> None:
    """None, or two, is wrong usage; so is an empty value, and a value among the arguments."""
    assert command("export", *arguments)[0] == 2
    assert command("erase", *arguments)[0] == 2
    assert command("erase", "--phone", text="\n")[0] == 2
    assert command("erase", "--phone", "+49 30 1")[0] == 2


def test_unknown_person_is_not_repeated(world: World, command: Command) -> None:
    """The error says what was looked for, and not the value."""
    code, printed = command("erase", "--phone", text="+1 212 5559999\n")
    assert (code, "5559999" in printed) == (1, False)
    assert "of this phone number" in printed
    assert list(ledger_of(world.data).entries()) == []


def test_rotate_says_what_to_set_and_is_recorded_once(world: World, command: Command) -> None:
    """After the command the new file's keys open the vault; a second time nothing is done or recorded."""
    new = world.place / "new.json"
    code, printed = command("rotate", "--new-key-file", str(new))
    assert (code, f"[vault] key_file to {new}" in printed) == (0, True)
    assert command("rotate", "--new-key-file", str(new))[0] == 0
    assert [entry.act for entry in ledger_of(world.data).entries()] == ["vault_rotated"]
    head = read_inventory(world.data).ledger
    assert head is not None
    assert (head.entries, bool(head.signature)) == (
        1,
        True,
    )  # signed, although only the new keys open the vault, which keeps the key for it
    code, printed = command("reveal", "order", "2", "--reason", "x")
    assert (code, "rotated at" in printed) == (1, True)
    with open_vault(load_settings(world.file, world.environ | {"ORDERMART_VAULT__KEY_FILE": str(new)})) as vault:
        assert vault.decrypt("orders", 2)["/user_phone"] == BOB


@pytest.mark.slow
def test_retention_destroys_personal_data_of_old_orders(world: World) -> None:
    """By created_at, and by landing if that is unknown; younger orders stay, old ones are not encrypted again."""
    world.configure("retention_days = 30\n")
    world.land("orders", [person(4, ANN, created_at=None), person(5, ANN, created_at="2020-11-20T10:00:00Z")])
    world.built()
    now = dt.datetime(2020, 12, 1, tzinfo=dt.UTC)
    (done,) = [each for each in run_maintenance(world.settings, now) if "expired" in each.task]
    assert (done.items, done.error) == (3, "")
    with open_vault(world.settings) as vault:
        assert vault.decrypt("orders", 4)["/user_phone"] == ANN
        assert vault.decrypt("orders", 5)["/user_phone"] == ANN
        for order_id in (1, 2, 3):
            with pytest.raises(VaultError, match="erased"):
                vault.decrypt("orders", order_id)
        assert not vault.erasing.of_contact("phone", BOB).versions
        assert vault.erasing.expire([], dt.datetime.now(dt.UTC) + dt.timedelta(days=1)) == 2  # landed before that
        assert not vault.erasing.of_contact("phone", ANN).versions
    world.land("orders", [person(2, BOB, tip=1)])  # the service sends it again
    with open_vault(world.settings) as vault, pytest.raises(VaultError, match="erased"):
        vault.decrypt("orders", 2)


@pytest.mark.slow
def test_customer_key_can_be_turned_off(world: World) -> None:
    """Neither new observations nor tables have it, although older raw files do."""
    world.configure("customer_key = false\n")
    world.land("orders", [person(6, ANN)])
    assert {row[1] for row in world.built(KEYS)[0]} == {None}
    landed = [
        (row["id"], row["customer_key"] is None)
        for file in raw_files(world.data, "orders").observations
        for row in pq.read_table(file.path).to_pylist()
    ]
    assert (6, True) in landed
    assert (1, False) in landed
