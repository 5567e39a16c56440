"""An erased person is nowhere: vault, raw, tables, releases, and restored backups; everybody else is as before."""

from __future__ import annotations

import io
import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from pipelines import cli
from pipelines.backup import back_up, backups_holding
from pipelines.inventory import write_noted
from pipelines.landing.data_folder import FORMATS, guard_format
from pipelines.landing.load import Load
from pipelines.landing.raw_folder import LandingError, raw_files
from pipelines.landing.reprocess import reprocess_quarantine
from pipelines.ledger import ERASED, erasures, ledger_of, verify
from pipelines.privacy import (
    PersonRequest,
    PrivacyError,
    apply_erasures,
    erase,
    export,
    forget_request,
    remove_old_releases,
    reveal,
)
from pipelines.report.outcomes import as_json
from pipelines.report.outcomes import erased as receipt
from pipelines.run.steps import heal
from pipelines.settings import SettingsError
from pipelines.vault import VaultError, open_vault
from tests.privacy.conftest import ANN, BOB, CODE, EMAIL, NOTE, World, copied, person

if TYPE_CHECKING:
    from pathlib import Path

KEYS = "select order_id, customer_key from mart.orders order by all"
TOTALS = "select business_date, order_count, total_price from mart.daily_store_sales order by all"
ORDERS = "select order_id, total_price, status, dispatch_note, has_dispatch_note from core.orders order by all"


@pytest.fixture(scope="module")
def erased(filled: World, tmp_path_factory: pytest.TempPathFactory) -> tuple[World, str]:
    """Give a copy in which Ann was erased by the command, her number on standard input, and what it printed."""
    own = copied(filled, tmp_path_factory.mktemp("erased") / "place")
    back_up(own.settings, own.backups)
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in own.environ.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["ordermart", "vault", "erase", "--phone"])
        patch.setattr(sys, "stdin", io.StringIO("+49 (30) 555-0101\n"))
        patch.setattr(sys, "stdout", out)
        with pytest.raises(SystemExit) as ended:
            cli.main()
    assert not ended.value.code
    return own, out.getvalue()


def _raw(world: World, area: str) -> list[dict[str, Any]]:
    files = getattr(raw_files(world.data, "orders"), area)
    return [row for file in files for row in pq.read_table(file.path).to_pylist()]


@pytest.mark.slow
def test_erased_person_is_in_no_part_of_the_data_folder(filled: World, erased: tuple[World, str]) -> None:
    """Neither vault, raw, tables nor releases have the notes, and no column shows whose the orders were."""
    world, _ = erased
    assert filled.rows(KEYS)[0][1] == filled.rows(KEYS)[2][1] is not None
    key = filled.rows(KEYS)[0][1]
    assert [row[1] for row in world.rows(KEYS)] == [None, filled.rows(KEYS)[1][1], None]
    assert [row["is_erased"] for row in _raw(world, "documents")].count(True) == 3
    assert CODE in str(_raw(filled, "documents"))
    assert [value for value in (CODE, NOTE) if value in str(_raw(world, "documents"))] == []
    assert [row["id"] for row in _raw(world, "documents") if '"_kept"' in row["document"]] == [2]
    assert [row["id"] for row in _raw(world, "observations") if row["customer_key"]] == [2]
    content = b"".join(path.read_bytes() for path in world.data.rglob("*") if path.is_file())
    assert key.encode() not in content
    having = (
        "select table_schema || '.' || table_name from information_schema.columns where column_name = 'customer_key'"
    )
    tables = [table for (table,) in world.rows(having)]
    assert {"core.orders", "mart.orders"} <= set(tables)
    for table in tables:
        if table != "audit.possible_duplicate_orders":  # there are none
            assert filled.rows(f"select 1 from {table} where customer_key = '{key}' limit 1") == [(1,)]
        assert world.rows(f"select 1 from {table} where customer_key = '{key}' limit 1") == []
    with open_vault(world.settings) as vault:
        for order_id in (1, 3):
            with pytest.raises(VaultError, match="erased"):
                vault.decrypt("orders", order_id)
        assert vault.decrypt("orders", 2)["/user_phone"] == BOB
        assert [each.asked for ref in vault.refused.refs("orders") if (each := vault.refused.open(ref))] == [8]
        assert not any(vault.erasing.of_contact("phone", ANN))
    assert len(list((world.data / "published" / "releases").iterdir())) == 1


@pytest.mark.slow
def test_totals_and_other_customers_are_as_before(filled: World, erased: tuple[World, str]) -> None:
    """Amounts, statuses and the other person's row are the same; only the plaintext note is gone, its mark is not."""
    world, _ = erased
    assert world.rows(TOTALS) == filled.rows(TOTALS)
    before = [row if row[0] == 2 else (*row[:3], None, row[4]) for row in filled.rows(ORDERS)]
    assert world.rows(ORDERS) == before
    assert filled.rows(ORDERS)[0][3] is not None


@pytest.mark.slow
def test_receipt_and_ledger_have_no_personal_data(erased: tuple[World, str]) -> None:
    """The entry names orders and a hash; the receipt names the backup that still has the data, and no value."""
    world, printed = erased
    (entry,) = erasures(ledger_of(world.data))
    assert (entry.act, entry.body["found_by"], entry.body["order_ids"]) == (ERASED, "phone", [1, 3])
    (backup,) = world.backups.glob("2*")
    assert backups_holding(world.data, entry) == [backup]
    assert f"STILL HELD  backup {backup}" in printed
    assert "Erased 2 orders of 1 customer." in printed
    log = (world.place / "elsewhere" / "erasures.jsonl").read_text("utf-8")
    ledger = (world.data / "ledger" / "ledger.jsonl").read_text("utf-8")
    for text in (printed, log, ledger):
        assert not [each for each in ("5550101", "canary", "Nobody") if each in text.replace("-", "")]
    assert verify(ledger_of(world.data)).entries == 1


@pytest.mark.slow
def test_increments_after_an_erasure_equal_a_rebuild(erased: tuple[World, str], tmp_path: Path) -> None:
    """Erased orders that come again, changed, are landed without personal data; a rebuild gives the same rows."""
    world = copied(erased[0], tmp_path / "place")
    world.land("orders", [person(1, ANN, tip=1, door=CODE) | {"dispatch_note": NOTE}, person(3, ANN), person(4, ANN)])
    rows = world.built(ORDERS, KEYS)
    assert rows[0][0][3:] == (None, True)
    assert [row[1] is None for row in rows[1]] == [True, False, True, False]
    assert [value for value in (CODE, NOTE) if value in str(_raw(world, "documents"))] == []
    assert world.built(ORDERS, KEYS, full=True) == rows


def test_email_finds_its_customer_in_any_case(world: World) -> None:
    """An e-mail address is compared without regard to case; another person's finds that person."""
    with open_vault(world.settings) as vault:
        assert vault.erasing.of_contact("email", EMAIL.upper()).order_ids == [1, 3]
        assert vault.erasing.of_contact("email", "bob@other.example").order_ids == [2]


def test_order_id_erases_that_order_alone(world: World) -> None:
    """By an order only its own data goes, and bodies of it; a second time nothing is held; her other order stays."""
    done = erase(world.settings, PersonRequest("order_id", "1"))
    assert done.entry is not None
    assert done.entry.body["order_ids"] == [1]
    assert (done.destroyed.customers, done.destroyed.versions, done.destroyed.quarantined) == (0, 1, 0)
    assert [row["id"] for row in _raw(world, "observations") if row["customer_key"]] == [2, 3]
    forget_request(world.data)  # its result was shown
    with pytest.raises(PrivacyError, match="order 1"):
        erase(world.settings, PersonRequest("order_id", "1"))
    assert erase(world.settings, PersonRequest("phone", ANN)).destroyed[:3] == (1, 1, 1)


def test_long_phone_number_and_address_do_not_hold_up_an_erasure(world: World) -> None:
    """A body full of their digits and letters is searched in one go: step by step it would take hours."""
    phone, email = "+" + "1" * 1_000_000 + "2", "a" * 1_000_000 + "@x.example"
    body = {"id": 21, "tip": "x", "a": ("1" * 500_000 + " ") * 2, "b": "a" * 1_000_000}
    world.land("orders", [person(20, phone) | {"user_email": email}, person(21, phone) | body])
    done = erase(world.settings, PersonRequest("order_id", "20"))
    assert (done.destroyed.versions, done.destroyed.quarantined) == (1, 1)


def _killed_at(point: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"pipelines.privacy.{point}", die)
        with pytest.raises(KeyboardInterrupt):
            erase(world.settings, PersonRequest("phone", ANN))


@pytest.mark.parametrize("point", ["before", "add_to_log", "erase_in_raw", "note_erasure"])
def test_killed_erasure_is_finished_by_the_next_run(world: World, point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the entry is written, what a run does first brings the erasure to its end, wherever it was killed."""
    if point == "before":
        entry = {"found_by": "phone", "customer_sha256": _hashes(world), "order_ids": [1, 3]}
        ledger_of(world.data).append(ERASED, entry)
    else:
        _killed_at(point, world, monkeypatch)
    heal(world.settings)
    assert [row["id"] for row in _raw(world, "observations") if row["customer_key"]] == [2]
    with open_vault(world.settings) as vault:
        assert not any(vault.erasing.of_contact("phone", ANN))
    assert len((world.place / "elsewhere" / "erasures.jsonl").read_text("utf-8").splitlines()) == 1


def test_killed_erasure_is_finished_by_the_same_command(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives the receipt of the erasure that was killed; a request about another person is refused as ever."""
    _killed_at("add_to_log", world, monkeypatch)
    with pytest.raises(PrivacyError, match="order 77"):
        erase(copied(world, world.place.with_name("other")).settings, PersonRequest("order_id", "77"))
    done = erase(world.settings, PersonRequest("phone", ANN))
    assert done.entry is not None
    assert (done.entry.body["order_ids"], done.destroyed.customers, done.rewritten) == ([1, 3], 1, 2)
    assert len(erasures(ledger_of(world.data))) == 1


def _hashes(world: World) -> list[str]:
    with open_vault(world.settings) as vault:
        return vault.erasing.key_hashes(each.customer for each in vault.erasing.of_contact("phone", ANN).versions)


@pytest.mark.slow
def test_tables_of_a_killed_erasure_are_rebuilt_by_the_next_run(
    filled: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before the build: the next run rebuilds, publishes, and removes the release that had the orders."""
    world = copied(filled, tmp_path / "place")
    _killed_at("build_and_record", world, monkeypatch)
    heal(world.settings)
    assert [row[1] is None for row in world.rows(KEYS)] == [True, False, True]
    assert len(list((world.data / "published" / "releases").iterdir())) == 1


@pytest.mark.slow
def test_settings_can_keep_older_releases(filled: World, tmp_path: Path) -> None:
    """With remove_releases = false they stay and are named."""
    world = copied(filled, tmp_path / "place")
    world.configure("remove_releases = false\n")
    ledger_of(world.data).append(ERASED, {"found_by": "email", "customer_sha256": [], "order_ids": [1]})
    old = world.data / "published" / "releases"
    shutil.copytree(next(old.iterdir()), old / "20200101T000000000000-abcdef")
    assert len(remove_old_releases(world.settings).kept_releases) == 2
    world.configure("")
    done = remove_old_releases(world.settings)
    assert ([each.name for each in done.removed_releases], len(done.kept_releases)) == (
        ["20200101T000000000000-abcdef"],
        1,  # the current one
    )


def test_body_of_an_erased_order_is_not_quarantined(world: World) -> None:
    """A broken body that comes for an erased order is listed without its bytes; another's is kept."""
    erase(world.settings, PersonRequest("order_id", "1"))
    for order_id, phone in ((1, ANN), (2, BOB)):
        with open_vault(world.settings) as vault, Load(world.settings, vault, "orders") as load:
            body = json.dumps(person(order_id, phone, tip="x")).encode()
            load.validate(body, requested_id=order_id)
            assert load.commit().counts["quarantined"] == 1
    with open_vault(world.settings) as vault:
        found = {each.asked: each.body for ref in vault.refused.refs("orders") if (each := vault.refused.open(ref))}
    assert (found[1], BOB.encode() in found[2]) == (b"", True)
    assert reprocess_orders(world) == []


def reprocess_orders(world: World) -> list[Any]:
    """Reprocess the quarantine, in which nothing became valid."""
    with open_vault(world.settings) as vault:
        return reprocess_quarantine(world.settings, vault)


def test_older_version_refuses_a_folder_with_erasures(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would encrypt erased orders again: an erasure notes the vault's format first."""
    write_noted(world.data, world.data / "format.json", b'{"raw":1,"vault":1,"inbox":1,"ledger":1}')
    erase(world.settings, PersonRequest("phone", ANN))
    monkeypatch.setitem(FORMATS, "vault", 1)
    with pytest.raises(SettingsError, match="vault has format 4"):
        guard_format(world.data)


@pytest.mark.slow
def test_tables_that_cannot_be_built_do_not_stop_an_erasure(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The data are destroyed all the same, the receipt says so, and the same request goes on with it."""
    file = world.data / "warehouse" / "warehouse.duckdb"
    file.parent.mkdir()
    file.write_bytes(b"")
    aside = file.with_name(file.name + ".damaged-20261101T000000")
    aside.write_bytes(b"old rows")

    def fail(*_: Any, **__: Any) -> None:
        raise LandingError("raw files are damaged")

    with monkeypatch.context() as patch:
        patch.setattr("pipelines.privacy.build_and_record", fail)
        done = erase(world.settings, PersonRequest("phone", ANN))
    assert "could not be rebuilt (raw files are damaged)" in "\n".join(receipt(done, [], []))
    assert not aside.exists()
    with open_vault(world.settings) as vault:
        assert not any(vault.erasing.of_contact("phone", ANN))
    with pytest.raises(PrivacyError, match="holds no personal data"):
        erase(world.settings, PersonRequest("phone", "+49 30 5559999"))  # another one was not erased
    done = erase(world.settings, PersonRequest("phone", ANN))
    assert (done.build_error, done.entry and len(done.entry.body["order_ids"])) == ("", 2)
    assert [row[1] is None for row in world.rows(KEYS)] == [True, False, True]
    forget_request(world.data)
    with pytest.raises(PrivacyError, match="holds no personal data"):
        erase(world.settings, PersonRequest("phone", ANN))


def test_erasure_of_another_services_folder_destroys_nothing(world: World) -> None:
    """With a wrong base_url the tables could not be published: it is refused before anything is destroyed."""
    world.configure('[partner]\nbase_url = "https://elsewhere.example"\n')
    with pytest.raises(SettingsError, match="holds data of"):
        erase(world.settings, PersonRequest("phone", ANN))
    with open_vault(world.settings) as vault:
        assert any(vault.erasing.of_contact("phone", ANN))
    assert erasures(ledger_of(world.data)) == []


def test_erasing_without_a_log_is_refused_once_there_are_backups(world: World) -> None:
    """A backup would bring the data back: nothing is erased, and the setting is named."""
    world.configure("")
    with pytest.raises(PrivacyError, match=r"\[privacy\] erasure_log"):
        erase(world.settings, PersonRequest("phone", ANN), has_backups=True)
    assert erasures(ledger_of(world.data)) == []


@pytest.mark.slow
def test_applying_again_changes_nothing(erased: tuple[World, str]) -> None:
    """Every erasure that was applied is left alone, and the vault takes it again without harm."""
    world, _ = erased
    assert apply_erasures(world.settings).rewritten == 0
    (entry,) = erasures(ledger_of(world.data))
    with open_vault(world.settings) as vault:
        assert tuple(vault.erasing.erase(entry.body["customer_sha256"], entry.body["order_ids"])) == (0, 0, 0, 0)


def test_values_are_json_without_a_terminal_code() -> None:
    """Shown personal data is ASCII, so that it cannot steer a terminal."""
    assert json.loads(as_json({"/user_name": "\x1b[2J\u202e"})) == {"/user_name": "\x1b[2J\u202e"}
    assert as_json({"a": "\x1b"}).isascii()
    assert "\x1b" not in as_json({"a": "\x1b"})


@pytest.mark.slow
def test_an_old_vault_put_back_shows_no_erased_person(
    filled: World, erased: tuple[World, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A vault.sqlite from before an erasure: nothing is shown, and the next run erases again what it brought back."""
    own = copied(erased[0], tmp_path_factory.mktemp("old_vault") / "place")
    vault_file = own.data / "vault" / "vault.sqlite"
    for file in vault_file.parent.glob("vault.sqlite*"):
        file.unlink()
    shutil.copy(filled.data / "vault" / "vault.sqlite", vault_file)
    with open_vault(own.settings) as vault:
        assert vault.decrypt("orders", 1)
    for show in (lambda: reveal(own.settings, 1, "a test"), lambda: export(own.settings, PersonRequest("phone", ANN))):
        with pytest.raises(PrivacyError, match="is from before an erasure that the ledger has"):
            show()
    apply_erasures(own.settings)
    with open_vault(own.settings) as vault:
        with pytest.raises(VaultError, match="erased"):
            vault.decrypt("orders", 1)
        assert vault.decrypt("orders", 2)["/user_phone"] == BOB
    assert apply_erasures(own.settings).entry is None
