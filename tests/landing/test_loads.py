"""A load's verdicts add up, its files hold what was said, and the index knows the latest."""

from __future__ import annotations

import copy
import datetime as dt
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.inventory import read_inventory
from pipelines.landing.data_folder import guard_source
from pipelines.landing.load import Load
from pipelines.landing.raw_folder import LandingError, Lock, raw_files
from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.landing.raw_rows import LoadSummary
    from pipelines.settings import Settings
    from pipelines.vault import Vault

NOON = dt.datetime(2026, 10, 1, 12, tzinfo=dt.UTC)


def _order(number: int, status: str = "preparing", **more: Any) -> bytes:
    return json.dumps({"id": number, "status": status, "user_phone": "+1 555 0100", **more}).encode()


@pytest.mark.slow
@pytest.mark.parametrize("bodies_at_once", [3, 1000])
@given(data=st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_vanishes(
    settings: Settings, vault: Vault, monkeypatch: pytest.MonkeyPatch, bodies_at_once: int, data: st.DataObject
) -> None:
    """Whatever comes in whatever mix: each body has exactly one verdict, in the summary and in the files."""
    monkeypatch.setattr("pipelines.landing.load._BODIES_AT_ONCE", bodies_at_once)
    body = st.one_of(
        st.tuples(st.just("body"), st.builds(_order, st.integers(1, 4), st.sampled_from("ab"))),
        st.tuples(
            st.just("body"), st.sampled_from([b"", b"{", b'{"id":null}', b'{"id":1,"tip":"x"}', b'{"id":9,"x":1}'])
        ),
        st.tuples(st.just("body"), st.binary(max_size=5)),
        st.tuples(st.just("missing"), st.integers(1, 9)),
        st.tuples(st.just("failed"), st.integers(1, 9)),
    )
    before = len(_observations(settings))
    given_ = data.draw(st.lists(body, max_size=12))
    with Load(settings, vault, "orders") as load:
        for what, value in given_:
            if what == "body":
                load.validate(value)  # type: ignore[arg-type]
            else:
                load.no_document(value, "timeout" if what == "failed" else None)  # type: ignore[arg-type]
        summary = load.commit()
    rows = _observations(settings)[before:]
    assert sum(summary.counts.values()) == len(given_) == len(rows)
    assert sorted(row["seq"] for row in rows) == list(range(len(given_)))
    assert Counter(row["verdict"] for row in rows) == Counter({v: n for v, n in summary.counts.items() if n})
    documents = {(row["id"], row["sha256"]) for row in _rows(settings, "documents")}
    assert {(r["id"], r["sha256"]) for r in _observations(settings) if r["sha256"]} == documents


def _rows(settings: Settings, area: str) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq  # noqa: PLC0415 -- read as the warehouse would

    files = getattr(raw_files(settings.data_dir, "orders"), area)
    return [row for file in files for row in pq.read_table(file.path).to_pylist()]


def _observations(settings: Settings) -> list[dict[str, Any]]:
    return _rows(settings, "observations")


def test_a_document_is_stored_once(
    land: Callable[..., LoadSummary], raw: Callable[[str, str], list[dict[str, Any]]]
) -> None:
    """A → B → A: three verdicts, the last an accepted one again, and two documents."""
    for status in ("a", "b", "a", "a"):
        land("orders", _order(1, status))
    assert [row["verdict"] for row in raw("observations", "orders")] == [
        "accepted",
        "accepted",
        "accepted",
        "unchanged",
    ]
    assert len(raw("documents", "orders")) == 2


def test_a_load_may_hold_an_order_several_times(
    land: Callable[..., LoadSummary], raw: Callable[[str, str], list[dict[str, Any]]]
) -> None:
    """Within one load and one batch the same rules hold as between loads."""
    summary = land("orders", *(_order(1, status) for status in "aabba"))
    assert [row["verdict"] for row in raw("observations", "orders")] == [
        *("accepted", "unchanged", "accepted", "unchanged", "accepted"),
    ]
    assert summary.counts["accepted"] == 3
    assert len(raw("documents", "orders")) == 2


def test_an_archive_of_unknown_time_is_never_the_latest(land: Callable[..., LoadSummary]) -> None:
    """The service's answer stays the latest, whatever an archive without a time brings later."""
    land("orders", _order(1, "live"), observed_at=NOON)
    assert land("orders", _order(1, "old"), source="archive").counts["accepted"] == 1
    assert land("orders", _order(1, "live")).counts["unchanged"] == 1
    assert land("orders", _order(1, "old"), observed_at=NOON + dt.timedelta(1)).counts["accepted"] == 1


def test_the_latest_is_by_time_of_observation(land: Callable[..., LoadSummary]) -> None:
    """A load that comes late with an earlier observation does not become the latest."""
    land("orders", _order(1, "new"), observed_at=NOON)
    land("orders", _order(1, "old"), observed_at=NOON - dt.timedelta(hours=1))
    assert land("orders", _order(1, "new"), observed_at=NOON + dt.timedelta(hours=1)).counts["unchanged"] == 1


def test_the_index_can_be_deleted(
    land: Callable[..., LoadSummary], settings: Settings, raw: Callable[[str, str], list[dict[str, Any]]]
) -> None:
    """A lost, stale or broken index is rebuilt from the raw files, and verdicts go on as if nothing had been."""
    index = settings.data_dir / "raw" / "index" / "orders.sqlite"
    land("orders", _order(1, "a"), _order(2, "a"))
    stale = index.read_bytes()
    land("orders", _order(1, "b"))
    for spoil in (index.unlink, lambda: index.write_bytes(stale), lambda: index.write_bytes(b"no database" * 999)):
        spoil()
        assert land("orders", _order(1, "b"), _order(2, "a")).counts["unchanged"] == 2
    for file in raw_files(settings.data_dir, "orders").observations:
        file.path.unlink()
    assert land("orders", _order(1, "b")).counts["accepted"] == 1
    assert len(raw("documents", "orders")) == 1


def test_a_load_that_fails_leaves_nothing(settings: Settings, vault: Vault, land: Callable[..., LoadSummary]) -> None:
    """An exception in the middle of a load leaves no file, no encrypted row and no entry of the index."""

    def fail() -> None:
        with Load(settings, vault, "orders") as load:
            for number in range(1500):
                load.validate(_order(number))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not list((settings.data_dir / "raw").rglob("*.parquet*"))
    assert vault.decrypt("orders", 1) == {}
    assert land("orders", _order(1)).counts["accepted"] == 1


@pytest.mark.parametrize(("bodies", "is_written"), [(15, False), (17, True)])
def test_a_load_holds_no_more_than_16_mib(settings: Settings, vault: Vault, bodies: int, is_written: bool) -> None:
    """What came is written before the load is committed, however few bodies it is."""
    folder = settings.data_dir / "raw" / "documents" / "orders"
    with Load(settings, vault, "orders", "live") as load:
        for number in range(bodies):
            load.validate(b'{"id": %d, "status": "%s"}' % (number, b"x" * 2**20))
        assert bool(list(folder.glob("*"))) is is_written
        load.commit()


def test_an_empty_load_writes_no_file(settings: Settings, vault: Vault) -> None:
    """A load in which nothing came says so and leaves no file behind."""
    with Load(settings, vault, "orders") as load:
        summary = load.commit()
    assert sum(summary.counts.values()) == 0
    assert raw_files(settings.data_dir, "orders").observations == []


def test_two_loads_of_a_kind_do_not_meet(settings: Settings, vault: Vault) -> None:
    """A second load of a kind is refused while one is under way; another kind is not."""
    with Load(settings, vault, "orders"):
        with pytest.raises(LandingError, match="under way"):
            Load(settings, vault, "orders")
        with Load(settings, vault, "menus") as other:
            other.commit()
    with Lock(settings.data_dir / "raw" / "orders.lock", "orders"):
        pass


def test_a_change_of_personal_data_alone_is_recorded_by_name(
    land: Callable[..., LoadSummary],
    raw: Callable[[str, str], list[dict[str, Any]]],
    order: dict[str, Any],
    vault: Vault,
) -> None:
    """The document is unchanged, the names of the changed fields are noted, and the vault holds the new values."""
    land("orders", order)
    later = copy.deepcopy(order)
    later["user_address"] = "2 Park Avenue"
    later["items"][0]["instructions"] = "extra olives"
    land("orders", later)
    land("orders", later)
    rows = raw("observations", "orders")
    assert [row["verdict"] for row in rows] == ["accepted", "unchanged", "unchanged"]
    assert [row["changed_personal"] for row in rows] == [[], ["items/*/instructions", "user_address"], []]
    assert vault.decrypt("orders", 7)["/items/0/instructions"] == "extra olives"
    first = (rows[0]["load_id"], rows[0]["seq"])
    assert vault.decrypt("orders", 7, at=first)["/user_address"] == "1 Park Avenue"


def test_customers_keep_their_key(
    land: Callable[..., LoadSummary], raw: Callable[[str, str], list[dict[str, Any]]]
) -> None:
    """Orders of one phone are of one customer, orders without a phone of their e-mail's; of neither, of their own."""
    land(
        "orders",
        _order(1, user_email="Ann@Example.com "),
        _order(2, user_phone=None, user_email="ann@example.com"),
        _order(3, user_phone="+15550100"),
        _order(4, user_phone="", user_email=None, user_name="Ann"),
        _order(5, user_phone="", user_email=None, user_name="Ann"),
        b'{"id":6}',
    )
    keys = [row["customer_key"] for row in raw("observations", "orders")]
    assert keys[0] == keys[2]
    assert len({keys[0], keys[1], keys[3], keys[4]}) == 4
    assert keys[5] is None
    land("orders", _order(4, user_phone="", user_email=None, user_name="Anna"))
    assert raw("observations", "orders")[-1]["customer_key"] == keys[3]


def test_data_remembers_its_service(configure: Callable[..., Settings], settings: Settings) -> None:
    """Data of one base_url refuses another."""
    guard_source(settings)
    guard_source(settings)
    with pytest.raises(SettingsError, match="base_url"):
        guard_source(configure(settings.file.parent, '[partner]\nbase_url = "http://127.0.0.1:1"\n'))


@pytest.mark.parametrize("loads", [1, 4])
def test_document_seen_again_is_the_latest(settings: Settings, vault: Vault, loads: int) -> None:
    """A, B, A, A: the last two are one document that came back and stayed; so within a load and over several."""
    documents = [_order(1, status) for status in ("a", "b", "a", "a")]
    counts: Counter[str] = Counter()
    for n in range(loads):
        with Load(settings, vault, "orders") as load:
            for document in documents[n * 4 // loads : (n + 1) * 4 // loads]:
                load.validate(document)
            counts.update(load.commit().counts)
    assert (counts["accepted"], counts["unchanged"]) == (3, 1)


@pytest.mark.parametrize("loads", [1, 3])
def test_document_seen_earlier_stays_where_it_was(settings: Settings, vault: Vault, loads: int) -> None:
    """An archive shows A once more, at a time before B: B stays the latest."""
    documents = [("a", 1), ("b", 3), ("a", 2), ("b", 4)]
    counts: Counter[str] = Counter()
    for n in range(loads):
        with Load(settings, vault, "orders") as load:
            for status, hour in documents if loads == 1 else documents[n : n + 1 + (n == 2)]:
                load.validate(_order(1, status), observed_at=NOON + dt.timedelta(hours=hour))
            counts.update(load.commit().counts)
    assert (counts["accepted"], counts["unchanged"]) == (3, 1)


def test_a_load_writes_the_inventory_once(settings: Settings, vault: Vault) -> None:
    """However many documents it has; one that is abandoned writes nothing."""
    guard_source(settings)
    before = read_inventory(settings.data_dir).no
    with Load(settings, vault, "orders") as load:
        for number in range(36):
            load.validate(_order(number))
        load.commit()
    assert read_inventory(settings.data_dir).no == before + 1
    with Load(settings, vault, "orders") as load:
        load.validate(_order(99))
    assert read_inventory(settings.data_dir).no == before + 1
