# ruff: noqa: D102 -- the class of a trap says what its only method does
"""Services that invite a wrong answer: none is ever written as found; it is asked for, or said to be open."""

from __future__ import annotations

import asyncio
import json
from typing import Any, ClassVar

import pytest

from pipelines.examining.first import InitAnswers, ProvenAnswers, find
from pipelines.settings import load_settings
from tests.strangers.service import ATTEMPTS, CLIENT_ID, CLIENT_SECRET, TOKEN, Reply, Request, Stranger
from tests.strangers.services import PAIR, Square, Stripe

pytestmark = pytest.mark.slow


class Plain(Stranger):
    """A service without tricks, of which each trap changes one thing."""

    login_path = "/oauth/token"
    list_path = "/v1/stores"
    answer: ClassVar[dict[str, Any]] = {"access_token": TOKEN, "expires_in": 3600}

    def login(self, request: Request) -> Reply:
        """Want client_id and client_secret in JSON."""
        body = request.body
        if not {"client_id", "client_secret"} <= body.keys():
            return Reply(400, {"error": "client_id and client_secret are required"})
        if (body["client_id"], body["client_secret"]) != PAIR:
            return self.refuse()
        return Reply(200, self.answer)

    def page(self, records: list[dict[str, Any]], _request: Request) -> Reply:
        """List all at once."""
        return Reply(200, {"stores": records})


def tried(
    service: Stranger, answers: dict[str, str] | None = None, *, secret: str = CLIENT_SECRET, **given: Any
) -> tuple[ProvenAnswers, list[str]]:
    """Search for the answers of a service, with a person who knows only `answers`; return also what was asked."""
    asked: list[str] = []

    def ask(key: str, _question: str) -> str:
        asked.append(key.removeprefix("partner."))
        return (answers or {}).get(asked[-1], "")

    settings = load_settings(
        environ={
            "ORDERMART_PARTNER__BASE_URL": service.base_url,
            "ORDERMART_PARTNER__CLIENT_ID": CLIENT_ID,
            "ORDERMART_PARTNER__CLIENT_SECRET": secret,
        }
    )
    made = asyncio.run(find(settings, ask, InitAnswers(**given), frozenset(), frozenset()))
    assert len(service.asked) <= 160
    assert service.refused_logins < ATTEMPTS
    return made, asked


def keys(made: ProvenAnswers) -> dict[str, Any]:
    """Return what would be written below [partner], without what a person answered."""
    return {key.removeprefix("partner."): value for key, (value, why) in made.found.items() if why != "answered"}


def test_plain_service_is_found_without_a_question() -> None:
    """Without a trap everything is found and proven, with one login and one of the proof."""
    with Plain() as service:
        made, asked = tried(service)
        assert (made.open, asked, made.is_proven) == ([], [], True)
        assert service.secrets_sent == 2
    assert keys(made)["store.menu_id_pointers"] == ("/menu_ids/*",)
    assert keys(made)["list_stores.pagination"] == "none"


class TwoNumbers(Plain):
    """Stores have a number and an id; details open by the id, and orders name it."""

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        return {"number": store["id"] + 5_000, **store}


class OrdersNameTheOther(TwoNumbers):
    """Details open by /number, which orders do not name."""

    def number(self, store_id: str) -> int | None:
        return int(store_id) - 5_000


class Personal(Plain):
    """Names of members may be personal data, or steer a terminal."""

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        person = {
            "ann@canary.example": {"id": store["id"] + 1, "menu": store["menu_ids"]},
            "+493055501": {"name": "Ann"},
        }
        return {**store, **person, "currency\x1b[2J": "EUR", "menu" * 20_000 + "-": 1}


class TextIds(Plain):
    """Ids are texts."""

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        return {**store, "id": f"st_{store['id']}"}


class AnyId(Plain):
    """Details echo whatever id they are asked for."""

    def resource(self, request: Request, *, known: bool) -> Reply:
        name = self.detail_path(request)
        if known and name is not None and name.isdigit():
            return Reply(200, {**self.stores()[0], "id": int(name)})
        return super().resource(request, known=known)


class AnyMenu(Plain):
    """Every number is a menu."""

    def resource(self, request: Request, *, known: bool) -> Reply:
        if known and "/menus/" in request.path:
            return Reply(200, {"menu": {"id": int(request.path.rpartition("/")[2])}, "products": {}, "modifiers": {}})
        return super().resource(request, known=known)


class DefaultMenu(Plain):
    """One menu of several is named a second time."""

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        return {**store, "default_menu_id": store["menu_ids"][0]}


class MenuVersions(Plain):
    """Numbers below a menu's name are not ids of menus."""

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        return {**{key: value for key, value in store.items() if key != "menu_ids"}, "menu": {"version": 7}}


class TwoZones(Plain):
    """The head office has a zone too."""

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        return {**store, "owner": {"timezone": "America/New_York"}}


class SomeZones(Plain):
    """A store has none."""

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        return {**store, "timezone": None} if store["id"] == self.world.store_ids[1] else store


class Countries(Plain):
    """No currency, but countries of three letters."""

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        return {**{key: value for key, value in store.items() if key != "currency"}, "country": "DEU", "unit": "USA"}


class Owners(Plain):
    """The owner has a name, and so has the chain, the same for all."""

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        place = {"display_name": store["name"]}
        return {
            **{k: v for k, v in store.items() if k != "name"},
            "place": place,
            "chain_name": "Chain",
            "boss": "Jane",
        }


class SilentSize(Plain):
    """A page of ten of twelve stores, without a sign of more."""

    def page(self, records: list[dict[str, Any]], _request: Request) -> Reply:
        return Reply(200, {"stores": records[:10]})


class Total(Plain):
    """A total above the listed number."""

    def page(self, records: list[dict[str, Any]], _request: Request) -> Reply:
        return Reply(200, {"stores": records[:4], "total": len(records)})


class DeafMore(Plain):
    """has_more is true, and no parameter is heard."""

    def page(self, records: list[dict[str, Any]], _request: Request) -> Reply:
        return Reply(200, {"stores": records[:4], "has_more": True})


class LimitOnly(Plain):
    """limit is heard; how to go on is not found."""

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        return Reply(200, {"stores": records[: int(request.query.get("limit", "5"))]})


class NextElsewhere(Plain):
    """The next page is on another host."""

    def page(self, records: list[dict[str, Any]], _request: Request) -> Reply:
        return Reply(200, {"stores": records[:4], "next": "http://127.0.0.2:9/v1/stores?page=2"})


class Twice(Plain):
    """Pages by number overlap: the second begins with the first one's last store from page three on."""

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        number = int(request.query.get("page", "1"))
        first = (number - 1) * 2 - (number > 2)
        return Reply(200, {"stores": records[first : first + 2] if number < 9 else []})


class Endless(Plain):
    """More pages than may be requested."""

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        number = int(request.query.get("page", "1"))
        return Reply(200, {"stores": [{**records[0], "id": number}], "next_page": number + 1})


class Long(Plain):
    """Forty pages of one store."""

    page_size = 1

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        number = int(request.query.get("page", "1"))
        page, _ = self.slice(records, (number - 1), 1)
        return Reply(200, {"stores": page, "total": len(records)})


class OffsetOfPages(Plain):
    """The offset counts pages, which a page of one record does not show."""

    page_size = 3

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        size = int(request.query.get("limit", "3"))
        first = int(request.query.get("offset", "0")) * size
        return Reply(200, {"stores": records[first : first + size]})


class GrowingPages(Plain):
    """The second page begins one store late: a walk by number misses it."""

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        number, size = int(request.query.get("page", "1")), int(request.query.get("limit", "3"))
        first = (number - 1) * size + (number > 1 and size > 1)
        return Reply(200, {"stores": records[first : first + size]})


class AfterNumber(Plain):
    """The list goes on after a number of its own, which orders do not name."""

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        return {"row": 900 + self.world.store_ids.index(store["id"]), **store}

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        after = int(request.query.get("starting_after", "0"))
        more = [record for record in records if record["row"] > after]
        return Reply(200, {"stores": more[:3], "has_more": len(more) > 3})


class WordCodes(Plain):
    """A word that is a currency's code as well."""

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        return {**{key: value for key, value in store.items() if key != "currency"}, "rank": "TOP"}


class LaterCode(Plain):
    """A currency that ISO 4217 lists since 2025."""

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        return store | {"currency": "XCG"}


class TwoLists(Plain):
    """The chains are listed, too."""

    def resource(self, request: Request, *, known: bool) -> Reply:
        if request.path == "/v1/locations":
            return Reply(200, {"chains": [{"id": 5, "name": "Chain"}]}) if known else self.stranger()
        return super().resource(request, known=known)


class LastPage(Plain):
    """Pages by number, with the number of the last one in the envelope."""

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        number = int(request.query.get("page", "1"))
        meta = {"current_page": number, "last_page": 3, "total": len(records)}
        return Reply(200, {"stores": records[number * 3 - 3 : number * 3], "meta": meta})


class Epoch(Plain):
    """The end of the token's life is a moment; a refresh token has a life of its own, and comes first."""

    answer: ClassVar[dict[str, Any]] = {
        "refresh_token": "refresh-1", "refresh_expires_in": 1800, "id_token": "id-1", "token_type": "Bearer",
        "expires_at": 1_795_000_000, "access_token": TOKEN,
    }  # fmt: skip


class TwoLives(Plain):
    """The password has a life, too."""

    answer: ClassVar[dict[str, Any]] = {"access_token": TOKEN, "expires_in": 3600, "password_expires_in": 86_400}


class HollowToken(Plain):
    """The login answers 200 with a token that nothing accepts."""

    answer: ClassVar[dict[str, Any]] = {"csrf_token": "abc", "ok": True}


class OpenList(Plain):
    """The list needs no token."""

    def is_known(self, request: Request) -> bool:
        return request.path == self.list_path or super().is_known(request)


class Website(Plain):
    """Every path is a page of HTML with 200."""

    def respond(self, _request: Request) -> Reply:
        return Reply(200, b"<!doctype html><title>Shop</title>", {"Content-Type": "text/html"})


class PostsAnything(Plain):
    """Every POST is answered with 200."""

    def respond(self, request: Request) -> Reply:
        is_login = request.path == self.login_path
        return Reply(200, {"ok": True}) if request.method == "POST" and not is_login else super().respond(request)


class Redirects(Plain):
    """The login moves elsewhere."""

    def respond(self, request: Request) -> Reply:
        if request.path == self.login_path:
            return Reply(302, {}, {"Location": "http://127.0.0.2:9/oauth/token"})
        return super().respond(request)


class Hasty(Plain):
    """The first refused login locks the client."""

    def refuse(self, *_: Any, **__: Any) -> Reply:
        self.refused_logins += 1
        return Reply(423, {"error": "locked"})


NOT_LISTED = "list_stores.pagination"
LOGIN = {"authenticate.path", "authenticate.body", "authenticate.token_pointer"}
# What must not be written as found, what must be asked, and what must be said to be open; by trap.
TRAPS: list[tuple[type[Stranger], int, set[str], str, str]] = [
    (TwoNumbers, 7, {"store.id_pointer", "store.path"}, "store.id_pointer", "--order-id"),
    (TextIds, 7, {"store.id_pointer"}, "", "text ids cannot be had"),
    (AnyId, 7, {"store.path", "store.id_pointer"}, "store.path", "store.path"),
    (AnyMenu, 7, {"store.menu_id_pointers"}, "store.menu_id_pointers", ""),
    (DefaultMenu, 7, {"store.menu_id_pointers"}, "store.menu_id_pointers", ""),
    (MenuVersions, 7, {"store.menu_id_pointers"}, "store.menu_id_pointers", ""),
    (TwoZones, 7, {"store.timezone_pointer"}, "store.timezone_pointer", ""),
    (SomeZones, 7, {"store.timezone_pointer"}, "store.timezone_pointer", ""),
    (Countries, 7, set(), "finance.currency", "is not a currency"),
    (SilentSize, 12, {NOT_LISTED}, "--stores", "may end early at 10"),
    (Total, 7, {NOT_LISTED}, "", "states 7 stores and shows 4"),
    (DeafMore, 7, {NOT_LISTED}, "", "more stores follow"),
    (LimitOnly, 7, {NOT_LISTED}, "", "limits the list"),
    (NextElsewhere, 7, {NOT_LISTED}, "", "another origin"),
    (Twice, 7, {NOT_LISTED}, "", "twice"),
    (Endless, 7, {NOT_LISTED}, "", "160 requests"),
    (OffsetOfPages, 7, {NOT_LISTED}, "", "limits the list"),
    (GrowingPages, 7, {NOT_LISTED}, "", "end elsewhere"),
    (WordCodes, 7, {"store.currency_pointer"}, "store.currency_pointer", ""),
    (TwoLists, 7, {"list_stores.path", NOT_LISTED}, "list_stores.path", "not decided"),
    (HollowToken, 7, LOGIN, "authenticate.header", "refuses what the login returned"),
    (OpenList, 7, {"authenticate.token_pointer", "list_stores.path"}, "list_stores.path", "without a token"),
    (Website, 7, {"authenticate.path", "list_stores.path"}, "list_stores.path", "without a token"),
    (PostsAnything, 7, {"authenticate.path"}, "authenticate.path", ""),
    (Redirects, 7, {"authenticate.path"}, "authenticate.path", ""),
]


@pytest.mark.parametrize(
    ("kind", "stores", "unwritten", "question", "complaint"), TRAPS, ids=lambda value: getattr(value, "__name__", "")
)
def test_trap_is_not_written_as_found(
    kind: type[Stranger], stores: int, unwritten: set[str], question: str, complaint: str
) -> None:
    """The wrong answer is not among those found; open questions are asked or reported."""
    with kind(stores) as service:
        made, asked = tried(service)
    assert not unwritten & keys(made).keys()
    assert not question or question in asked
    assert complaint in " ".join(made.open)
    assert not made.is_proven or question


def test_order_decides_which_number_is_the_id() -> None:
    """Of two numbers the one that an order names is a store's id, if details open by it; else nothing is."""
    with TwoNumbers() as service:
        made, _ = tried(service, orders=tuple(service.world.order_ids[:1]))
        assert (keys(made)["store.id_pointer"], made.open) == ("/id", [])
    with AfterNumber() as service:
        made, _ = tried(service, orders=tuple(service.world.order_ids[:1]))
        assert not {"store.id_pointer", NOT_LISTED} & keys(made).keys()
        assert "the list goes on after /row, but orders name stores by /id" in made.open[0]
    with OrdersNameTheOther() as service:
        made, _ = tried(service, orders=tuple(service.world.order_ids[:1]))
        assert "store.id_pointer" not in keys(made)
        assert "no path opens a store by its /id" in made.open[0]


def test_codes_that_tables_know_are_currencies_of_a_store() -> None:
    """The list of codes is that of the function `is_currency`."""
    with LaterCode() as service:
        assert keys(tried(service)[0])["store.currency_pointer"] == "/currency"


def test_number_of_stores_proves_a_round_list() -> None:
    """Ten stores are all of them if a person says so, and not if there are twelve."""
    with Plain(10) as service:
        assert keys(tried(service, stores=10)[0])["list_stores.pagination"] == "none"
    with Plain(10) as service:
        assert "may end early" in tried(service, stores=12)[0].open[0]


def test_wrong_secret_locks_nobody_out() -> None:
    """Three logins at most are tried, and one if the service says that it locks; the likely fault is named."""
    with Square() as service:
        made, _ = tried(service, secret="wr0ng")
        assert service.refused_logins <= 3
        assert "answered 401" in made.open[0]
        assert not any(key.startswith("authenticate") for key in keys(made))
    with Hasty() as service:
        made, _ = tried(service, secret="wr0ng")
        assert service.refused_logins == 1


def test_only_a_path_that_exists_sees_the_secret() -> None:
    """A path that a person got wrong, or that redirects, is named before anything is sent to it."""
    for kind, path in ((PostsAnything, "/nowhere/login"), (Redirects, "/oauth/token")):
        with kind() as service:
            made, _ = tried(service, {"authenticate.path": path})
            if kind is Redirects:
                assert service.secrets_sent == 0
                assert f"POST {path} answers 302, so that nothing was sent to it" in made.open[0]
            assert not made.is_proven


class Deep(Plain):
    """Refusals and records are nested as deep as a decoder goes, and name five hundred fields."""

    def login(self, request: Request) -> Reply:
        if request.body.get("client_secret"):
            return super().login(request)
        names = ", ".join(f"field_{'x' * (number % 20 + 1)}_{'y' * (number // 20 + 1)}" for number in range(500))
        return Reply(
            400, b'{"error": "needed: client_id, client_secret, ' + names.encode() + b'", "more": ' + NESTED + b"}"
        )

    def page(self, records: list[dict[str, Any]], _request: Request) -> Reply:
        text = b", ".join(b'{"deep": ' + NESTED + b", " + json.dumps(record).encode()[1:] for record in records)
        return Reply(200, b'{"stores": [' + text + b"]}")


NESTED = b"[" * 900 + b"]" * 900


def test_depth_and_numbers_of_names_are_limited() -> None:
    """A hostile service costs four questions at most, and no error."""
    with Deep() as service:
        made, asked = tried(service)
    assert len(asked) == 4
    assert keys(made)["store.id_pointer"] == "/id"


def test_tokens_and_lives_are_distinguished() -> None:
    """Neither a refresh token nor the moment at which the token ends is taken."""
    with TwoLives() as service:
        assert keys(tried(service)[0])["authenticate.expires_in_pointer"] == ""
    with Epoch() as service:
        found = keys(tried(service)[0])
    assert found["authenticate.token_pointer"] == "/access_token"
    assert found["authenticate.expires_in_pointer"] == ""


def test_numbered_pages_with_a_last_page() -> None:
    """The number of the last page is no cursor."""
    with LastPage() as service:
        made, _ = tried(service)
    assert (keys(made)["list_stores.pagination"], keys(made)["list_stores.cursor_parameter"]) == ("page", "page")
    assert made.is_proven


def test_long_list_leaves_room_for_the_proof() -> None:
    """Forty pages are walked once, and stores, menus and orders are still examined within the limit."""
    with Long(40) as service:
        made, _ = tried(service, orders=tuple(service.world.order_ids))
    assert made.is_proven, made.open
    assert {"store", "menu", "order"} <= {part for part, *_ in made.examined.findings}


def test_name_of_a_store_is_its_own() -> None:
    """A value that all stores share is not their name."""
    with Owners() as service:
        assert keys(tried(service)[0])["store.name_pointer"] == "/place/display_name"


def test_names_that_may_be_personal_are_passed_over() -> None:
    """Neither the file nor the output has a name of a member that does not look like one."""
    with Personal() as service:
        made, asked = tried(service)
    assert made.is_proven
    assert not any(sign in repr((made, asked)) for sign in ("canary", "4930", "x1b", "menumenu"))


def test_secret_that_is_the_token_is_tried_once() -> None:
    """A service without a login gets the secret where its refusal says, after a person said that there is none."""
    with Stripe() as service:
        made, _ = tried(service, {"authenticate.path": "none"})
    assert keys(made)["authenticate.encoding"] == "none"
    assert made.is_proven
    assert "the secret 1 of at most 4 times, then as the token" in made.sent


def test_nobody_answers() -> None:
    """An address where nothing listens is said, and nothing is written."""
    with Plain() as service:
        url = service.base_url
    settings = load_settings(environ={"ORDERMART_PARTNER__BASE_URL": url, "ORDERMART_PARTNER__CLIENT_SECRET": "s"})
    made = asyncio.run(find(settings, lambda *_: "", InitAnswers(), frozenset(), frozenset()))
    assert (made.found, "does not answer" in made.open[0]) == ({}, True)
