"""A kind is called up to date only if its answers show it: every night until somebody has corrected the cause."""

from __future__ import annotations

import datetime as dt
import email.utils
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.inbox.worklist import WorkList
from pipelines.ingest.ingest_session import PartnerSession
from pipelines.ingest.loop import ingest, ingest_unlisted_stores
from pipelines.warehouse.building.build import build, warehouse_file
from tests.rewriting import rewriting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from conftest import Place

    from tests.rewriting import Change

pytestmark = pytest.mark.slow

STORES = "/v1/partner_developers/stores"


@pytest.fixture(scope="module")
def service(
    running_service: Callable[..., AbstractContextManager[Place]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """Give a service with eight stores and forty orders of the last days: stores of older ones count for nothing."""
    today, folder = dt.datetime.now(dt.UTC).date(), tmp_path_factory.mktemp("up") / "service"
    with running_service(folder, orders=40, stores=8, days=3, until=today) as place:
        yield place


@pytest.fixture
def strange(service: Place, tmp_path: Any) -> Iterator[Callable[[Change], Place]]:
    """Give the service with its answers changed, and a fresh data folder."""
    import dataclasses  # noqa: PLC0415

    with ExitStack() as stack:

        def start(change: Change) -> Place:
            address = stack.enter_context(rewriting(service.sandbox.base_url, change))
            (tmp_path / "ids").write_text((service.folder / "ids").read_text())
            environ = {"ORDERMART_PARTNER__BASE_URL": address, "ORDERMART_DATA__DIR": str(tmp_path / "data")}
            return dataclasses.replace(service, folder=tmp_path, environ={**service.environ, **environ})

        yield start


def night(place: Place) -> dict[str, list[str]]:
    """Fetch what a night fetches; return why each kind is not up to date."""
    settings = place.settings()
    with PartnerSession(settings) as session:
        fetched = {kind: ingest(settings, kind, session=session) for kind in ("stores", "menus", "orders")}
        unlisted = ingest_unlisted_stores(settings, session)
    said = {kind: each.assess().against for kind, each in fetched.items()}
    said["stores"] += unlisted.shortfalls if unlisted else []
    return said


def ids_as_text(path: str, status: int, body: Any) -> tuple[int, Any]:
    """Send the ids of orders as text."""
    return status, {**body, "id": str(body["id"])} if "/orders/" in path and status == 200 else body


def test_orders_that_are_all_rejected_are_not_up_to_date_on_any_night(strange: Callable[[Change], Place]) -> None:
    """Ids sent as text: said in the night they come, in later nights that ask nothing, and no more once corrected."""
    is_corrected = False
    place = strange(lambda path, status, body: (status, body) if is_corrected else ids_as_text(path, status, body))
    place.ask(place.ids)
    assert night(place)["orders"] == [
        "40 of 40 requested orders were rejected, 40 of them because of wrong_type; more than [planner] max_failed_rate"
    ]
    for _ in range(2):
        (sentence,) = night(place)["orders"]
        assert sentence.startswith("40 orders failed, were rejected or not found before")
    is_corrected = True
    with WorkList(place.data / "inbox" / "worklist.sqlite") as work:
        assert len(work.retry()) == 40
    assert night(place)["orders"] == []
    assert night(place)["orders"] == []


def due_now(place: Place) -> None:
    """Make everything that waits due."""
    with WorkList(place.data / "inbox" / "worklist.sqlite") as work:
        work._write("update entries set due_at = 1 where due_at is not null", {})


def test_an_earlier_version_that_is_served_again_is_counted(strange: Callable[[Change], Place]) -> None:
    """A replica that lags behind: the order is as it was before, which is no new version."""
    current = ["new"]

    def change(path: str, status: int, body: Any) -> tuple[int, Any]:
        return status, {**body, "status": current[0]} if "/orders/" in path and status == 200 else body

    place, returned = strange(change), []
    for current[0] in ("new", "done", "done", "new"):
        place.ask(place.ids[:1])
        returned.append(place.pull().returned)
    assert returned == [0, 0, 0, 1]


def test_an_answer_from_a_cache_does_not_replace_a_newer_one(strange: Callable[[Change], Place]) -> None:
    """An old version with Age, or with a Date of last week, is counted, and the order stays as it is."""
    old = email.utils.format_datetime(dt.datetime.now(dt.UTC) - dt.timedelta(days=7))
    nights: list[tuple[str, dict[str, str]]] = [
        ("new", {}),
        ("done", {"age": "0"}),
        ("new", {"age": "864000"}),
        ("done", {}),
        ("new", {"date": old}),
    ]
    current = [nights[0]]

    def change(path: str, status: int, body: Any) -> tuple[int, Any, dict[str, str]]:
        if "/orders/" not in path or status != 200:
            return status, body, {}
        return status, {**body, "status": current[0][0]}, current[0][1]

    place, seen = strange(change), []
    for current[0] in nights:
        place.ask(place.ids[:1])
        found = place.pull()
        seen.append((found.returned, found.aged))
    assert seen == [(0, 0), (0, 0), (0, 1), (0, 0), (0, 1)]
    build(place.settings())
    with duckdb.connect(str(warehouse_file(place.data)), read_only=True) as con:
        assert con.execute("select status from core.orders").fetchall() == [("done",)]


def test_menus_that_do_not_exist_are_bounded_by_store(strange: Callable[[Change], Place]) -> None:
    """Each store names 3,000 menus besides its own: a hundred or so are asked for, night after night, and its own."""
    asked: Counter[str] = Counter()

    def change(path: str, status: int, body: Any) -> tuple[int, Any]:
        asked[path.rsplit("/", 2)[1]] += 1
        if path.startswith(f"{STORES}/") and status == 200:
            body["menu_ids"] = [*body["menu_ids"], *range(body["id"] * 100_000, body["id"] * 100_000 + 3_000)]
        return status, body

    place = strange(change)
    for _ in range(2):
        asked.clear()
        place.ask(place.ids[:5])
        said = night(place)
        assert any("8 stores name menus of which the service lacks 100" in each for each in said["menus"])
        assert 8 * 100 <= asked["menus"] <= 8 * 130 + 40
        assert asked["orders"] == 5
    assert {"accepted"} <= {verdict for verdicts in place.verdicts("menus").values() for verdict in verdicts}


def test_stores_that_name_many_menus_do_not_hold_the_orders_up(strange: Callable[[Change], Place]) -> None:
    """Seven stores name 150 menus more, and one 1,000, of which one in five is there: orders come after a thousand.

    After them comes what is there; the menus of the one wait, however many single ones are there.
    """
    asked: list[tuple[str, int]] = []
    with_missing: list[int] = []

    def change(path: str, status: int, body: Any) -> tuple[int, Any]:
        kind, last = path.rsplit("/", 2)[1:]
        number = int(last) if last.isdigit() else 0
        asked.append((kind, number))
        if path.startswith(f"{STORES}/") and status == 200:
            with_missing[:] = with_missing or [number]
            many = 1_000 if number in with_missing else 150
            body["menu_ids"] = [*body["menu_ids"], *range(number * 100_000, number * 100_000 + many)]
        if kind == "menus" and status == 404 and (number % 5 == 0 or number // 100_000 not in with_missing):
            return 200, {"menu": {"id": number, "name": "M", "price_groups": []}, "products": {}, "modifiers": {}}
        return status, body

    place = strange(change)
    place.ask(place.ids[:5])
    code, said = place.command("run")
    assert code == 3, said
    kinds = [kind for kind, _ in asked]
    first, last = kinds.index("orders"), len(kinds) - kinds[::-1].index("orders")
    assert kinds[:first].count("menus") == 1_000
    assert kinds[last:].count("menus") >= 50
    of_store = Counter(number // 100_000 for kind, number in asked if kind == "menus" and number >= 100_000)
    assert 150 <= of_store.pop(with_missing[0]) <= 250
    assert set(of_store.values()) == {150}
    assert place.all("select count(*) from core.menus")[0][0] >= 7 * 150


def test_a_few_rejected_orders_leave_the_kind_up_to_date_also_when_asked_again(
    strange: Callable[[Change], Place],
) -> None:
    """Two of forty are wrong: neither that night nor the retries of these two alone call the orders old."""
    wrong: set[str] = set()
    place = strange(
        lambda path, status, body: (
            ids_as_text(path, status, body) if path.rpartition("/")[2] in wrong else (status, body)
        )
    )
    wrong.update(str(id_) for id_ in place.ids[:2])
    place.ask(place.ids)
    assert night(place)["orders"] == []
    due_now(place)
    assert night(place)["orders"] == []


def test_a_service_that_refuses_all_orders_is_asked_for_few(strange: Callable[[Change], Place]) -> None:
    """403 for most orders stops the kind after some twenty requests; nothing of it is landed, and that is said."""
    refused: set[str] = set()
    place = strange(lambda path, status, body: (403, {}) if path.rpartition("/")[2] in refused else (status, body))
    refused.update(str(id_) for id_ in place.ids[:36])  # the four that are not are never asked for
    place.ask(place.ids)
    place.sandbox.clear_record()
    sentence, unasked = night(place)["orders"]
    assert unasked == "20 of 40 due orders were not requested, or not answered"
    assert sentence.startswith("all of 20 requested orders are refused, because the service answers 403")
    assert place.tries().total() <= 40
    assert place.verdicts() == {}


@pytest.mark.parametrize(
    ("envelope", "sign"),
    [
        ({"meta": {"next_cursor": "abc"}}, "/meta/next_cursor"),
        ({"has_more": True}, "/has_more"),
        ({"paging": {"total": 8}}, "/paging/total states 8 stores, and the pages read have 3"),
    ],
)
def test_a_list_that_ends_early_is_said(strange: Callable[[Change], Place], envelope: Any, sign: str) -> None:
    """Three of eight stores on a page that says that more follow: the stores are not up to date, with the setting."""

    def cut(path: str, status: int, body: Any) -> tuple[int, Any]:
        return status, {"data": body[:3], **envelope} if path == STORES else body

    place = strange(cut)
    place.environ["ORDERMART_PARTNER__LIST_STORES__ITEMS_POINTER"] = "/data"
    place.ask(place.ids)
    (sentence,) = night(place)["stores"]
    assert sign in sentence
    assert "pagination" in sentence


def test_orders_of_unlisted_stores_make_the_list_doubtful(strange: Callable[[Change], Place]) -> None:
    """A list cut without a sign: the stores that orders name are fetched by id, and the list is called doubtful."""
    place = strange(lambda path, status, body: (status, body[:3] if path == STORES else body))
    place.ask(place.ids)
    (sentence,) = night(place)["stores"]
    assert "5 stores that the list does not have: check [partner.list_stores]" in sentence
    assert len(place.verdicts("stores")) == 8


def test_a_list_that_lost_stores_without_orders_is_said(strange: Callable[[Change], Place]) -> None:
    """The list has all stores for a night, then three of eight, and no order names one: stores fetched lately count."""
    have = [8]
    place = strange(lambda path, status, body: (status, body[: have[0]] if path == STORES else body))
    assert not any(night(place).values())
    have[0] = 7
    assert not any(night(place).values())  # one store may close
    have[0] = 3
    for _ in range(2):
        (sentence,) = night(place)["stores"]
        assert sentence.startswith("the list lacks 5 of 8 stores that it had in the last 28 days: check")


def test_an_unknown_store_of_an_order_is_said(strange: Callable[[Change], Place]) -> None:
    """One store that the service neither lists nor knows by its id leaves its orders without a time zone."""

    def lose(path: str, status: int, body: Any) -> tuple[int, Any]:
        if path == STORES:
            lose.id = body[0]["id"]  # type: ignore[attr-defined]
            return status, body[1:]
        return (404, {}) if path == f"{STORES}/{getattr(lose, 'id', None)}" else (status, body)

    place = strange(lose)
    place.ask(place.ids)
    (sentence,) = night(place)["stores"]
    assert "1 stores that the list does not have; 1 of these are unknown to the service" in sentence


@pytest.mark.parametrize(
    ("setting", "value", "kind", "sentence"),
    [
        (
            "MENU_ID_POINTERS",
            '["/menus/*/id"]',
            "menus",
            "no store record has a value at /menus/*/id; records have /menu_ids",
        ),
        (
            "TIMEZONE_POINTER",
            "/tz",
            "stores",
            "no store record has a usable IANA time zone at /tz; records have /timezone",
        ),
        ("CURRENCY_POINTER", "/money", "stores", "usable ISO 4217 currency at /money; records have /currency"),
        ("NAME_POINTER", "/title", "stores", "no store record has a usable name at /title; records have /name"),
    ],
)
def test_a_pointer_that_leads_nowhere_is_said_with_what_records_have(
    strange: Callable[[Change], Place], setting: str, value: str, kind: str, sentence: str
) -> None:
    """A value at the pointer in no record: said each night; an explicit "" or [] says that there is none."""
    place = strange(lambda _path, status, body: (status, body))
    place.environ[f"ORDERMART_PARTNER__STORE__{setting}"] = value
    for _ in range(2):
        said = night(place)
        assert [kind for kind, sentences in said.items() if sentences] == [kind]
        assert sentence in said[kind][0]
    place.environ[f"ORDERMART_PARTNER__STORE__{setting}"] = "[]" if value.startswith("[") else ""
    assert not any(night(place).values())


def test_stores_without_menus_are_up_to_date(strange: Callable[[Change], Place]) -> None:
    """Null and an empty list at the menu pointer are a true answer."""

    def change(path: str, status: int, body: Any) -> tuple[int, Any]:
        if path == STORES:
            return status, [{**record, "menu_ids": None} for record in body]
        return status, {**body, "menu_ids": []} if path.startswith(STORES) else body

    place = strange(change)
    assert not any(night(place).values())
