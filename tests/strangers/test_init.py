"""The command: at a terminal and without one, on a file of its own and on one that a person wrote."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import stat
import sys
import time
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.examining.first import InitAnswers, make_settings, with_answers
from pipelines.settings import SettingsError, load_settings
from tests.forked import ROOT, ordermart
from tests.service.process import StandIn
from tests.strangers.service import CLIENT_ID, CLIENT_SECRET, TOKEN, Reply, Request
from tests.strangers.services import Square, Stripe, Toast
from tests.strangers.test_first_release import SALES, init, written

if TYPE_CHECKING:
    from pathlib import Path

BY_HAND = """\
# The shop of the harbour: ask Jo before you change this.
[partner]
base_url = "http://127.0.0.1:{port}"

[partner.authenticate]   # as their letter of May says
path = "/oauth2/token"
body = {{ client_id = "{{client_id}}", client_secret = "{{client_secret}}", grant_type = "client_credentials" }}
expires_in_pointer = ""

[partner.list_stores]
path = "/v2/locations"
items_pointer = "/locations"  # pages? nobody knows

[partner.store]
path = "/v2/locations/{{store_id}}"

[data]
dir = "shop-data"
[vault]
key_file = "shop-keys.json"
"""


class Forgetful(Square):
    """A service that answers 403 after `good_for` requests with a token; its login says that it is good for a month."""

    good_for = uses = 0

    def respond(self, request: Request) -> Reply:
        """Forget the token after so many requests; 0: never."""
        self.uses = 0 if request.path == self.login_path else self.uses + 1
        return Reply(403, {"message": "expired"}) if 0 < self.good_for < self.uses else super().respond(request)


@pytest.mark.slow
def test_second_init_has_nothing_to_correct(tmp_path: Path) -> None:
    """The first one's file works: the file stays as it is, and the secret is sent once more.

    Of tokens that expire sooner than is said `init` and `doctor` say what the service then answers, here or in nights.
    """
    said = "expires before it is said to; the service then answers status_403; it is renewed."
    with Forgetful() as service:
        second = ("--second-folder", str(tmp_path / "second"))
        assert init(tmp_path, service, SALES, options=second).returncode == 0
        assert load_settings(tmp_path / "shop.toml", environ={}).ledger.witness == second[1]
        for name in ("shop-keys.json", "shop-client-secret"):
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
        names = {"ids", "shop.toml", "shop-keys.json", "shop-client-secret"}
        assert {path.name for path in tmp_path.iterdir()} == names
        text, sent = (tmp_path / "shop.toml").read_text(), service.secrets_sent
        assert text.count("#") > 15  # each answer has its evidence, once
        environ = {key: value for key, value in os.environ.items() if not key.startswith("ORDERMART_PARTNER")}
        environ["ORDERMART_PARTNER__CLIENT_ID"] = CLIENT_ID  # the secret is in the file beside it
        again = ordermart(("init", str(tmp_path / "shop.toml")), environ, timeout=60)
        assert again.returncode == 0, again.stdout + again.stderr
        assert "Nothing to correct." in again.stdout
        assert (tmp_path / "shop.toml").read_text() == text
        assert service.secrets_sent == sent + 1
        environ = {**os.environ, "ORDERMART_PARTNER__CLIENT_ID": CLIENT_ID}
        environ["ORDERMART_PARTNER__CLIENT_SECRET_FILE"] = str(tmp_path / "shop-client-secret")
        service.good_for = 6
        again = ordermart(("init", str(tmp_path / "shop.toml")), environ, timeout=60)
        assert (again.returncode, said in again.stdout) == (0, True), again.stdout + again.stderr
        night = ordermart(("--config", str(tmp_path / "shop.toml"), "run", "-v"), environ, timeout=120)
        assert night.returncode == 0, night.stdout + night.stderr
        service.good_for = 0
        for command in (("init", str(tmp_path / "shop.toml")), ("--config", str(tmp_path / "shop.toml"), "doctor")):
            assert said in ordermart(command, environ, timeout=60).stdout
        assert all(
            part in night.stdout for part in ("known orders", "Rows (", "Example queries", "core:")
        )  # notes, too


@pytest.mark.slow
def test_file_of_a_person_is_completed(tmp_path: Path) -> None:
    """Only the list's pages, which do not work, are filled in; comments, order and the rest stay."""
    with Square() as service:
        text = BY_HAND.format(port=service.base_url.rpartition(":")[2])
        (tmp_path / "shop.toml").write_text(text)
        done = ordermart(
            ("init", str(tmp_path / "shop.toml"), "--client-id", CLIENT_ID),
            {**os.environ, "ORDERMART_PARTNER__CLIENT_SECRET": CLIENT_SECRET},
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert service.secrets_sent <= 4
    after = (tmp_path / "shop.toml").read_text()
    added = [line for line in after.splitlines() if line not in text.splitlines()]
    assert [line for line in text.splitlines() if line not in after.splitlines()] == []
    assert {line.partition(" ")[0] for line in added} == {
        "pagination",
        "cursor_pointer",
        "cursor_parameter",
        "cursor_is_optional",
    }
    assert all("#" in line for line in added)


@pytest.mark.slow
def test_secret_that_is_the_token_is_examined_again(tmp_path: Path) -> None:
    """A second init of a service without a login has nothing to correct either."""
    with Stripe() as service:
        assert init(tmp_path, service, "authenticate.encoding=none", SALES).returncode == 0
        again = init(tmp_path, service)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "Nothing to correct." in again.stdout


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["standard", "offset", "keyed", "last_id"])
def test_sandbox_is_found_in_its_dialects(tmp_path: Path, dialect: str) -> None:
    """Nothing is asked for but a login that is not there, and all is proven."""
    with StandIn(orders=5, stores=4, days=2, dialect=dialect, ids=tmp_path / "ids") as sandbox:
        sets = ("--set", "authenticate.encoding=none") if dialect == "keyed" else ()
        done = ordermart(
            (
                *("init", str(tmp_path / "shop.toml"), "--base-url", sandbox.base_url, "--client-id", "sandbox", *sets),
                *("--order-ids", str(tmp_path / "ids"), "--set", SALES),
            ),
            {**os.environ, "ORDERMART_PARTNER__CLIENT_SECRET": "sandbox"},
            timeout=60,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    kinds = {"standard": "none", "offset": "offset", "keyed": "next_url", "last_id": "last_id"}
    assert written(tmp_path)["list_stores"]["pagination"] == kinds[dialect]


@pytest.mark.slow
def test_environment_counts_and_is_not_written(tmp_path: Path) -> None:
    """What variables say is used as given, and stays out of the file."""
    with Toast() as service:
        done = init(
            tmp_path,
            service,
            "authenticate.body.userAccessType=TOAST_MACHINE_CLIENT",
            SALES,
            ORDERMART_PARTNER__LIST_STORES__PATH="/partners/v1/restaurants",
            ORDERMART_PARTNER__STORE__NAME_POINTER="",
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "GET /v1/partner_developers/stores" not in service.asked
    assert "path" not in written(tmp_path)["list_stores"]
    assert "name_pointer" not in written(tmp_path)["store"]


@pytest.mark.slow
def test_without_a_terminal_an_answer_that_is_missing_is_named(tmp_path: Path) -> None:
    """Exit code 3, with flag and variable; what was proven is written, and the next command repeats the orders' ids."""
    with Toast() as service:
        done = init(tmp_path, service)
        assert done.returncode == 3, done.stderr
        assert "--set partner.authenticate.body.userAccessType=" in done.stdout
        assert f"ordermart init {tmp_path / 'shop.toml'} --order-ids {tmp_path / 'ids'}" in done.stdout
        done = init(tmp_path, service, "authenticate.body.userAccessType=TOAST_MACHINE_CLIENT", orders=False)
        assert done.returncode == 3
        assert "--set partner.store.id_pointer=" in done.stdout
        assert "ORDERMART_PARTNER__STORE__ID_POINTER" in done.stdout
        assert written(tmp_path)["authenticate"]["body"]["userAccessType"] == "TOAST_MACHINE_CLIENT"
    (tmp_path / "empty").mkdir()
    alone = ordermart(("init", str(tmp_path / "empty" / "x.toml")), dict(os.environ), timeout=60)
    assert alone.returncode == 2
    assert all(each in alone.stderr for each in ("--base-url", "--client-id", "ORDERMART_PARTNER__CLIENT_SECRET"))


class Django(Square):
    """A token of another scheme, pages as JSON:API counts them, records without zone and currency, menus nowhere."""

    scheme = "JWT"
    list_path = "/v1/locations"

    def is_known(self, request: Request) -> bool:
        """Want the scheme."""
        return request.headers.get("authorization", "") == f"{self.scheme} {TOKEN}"

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        """Have two fields alone."""
        return {"id": store["id"], "name": store["name"]}

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        """Count pages from one on."""
        first = (int(request.query.get("page[number]", "1")) - 1) * self.page_size
        return Reply(200, {"data": self.slice(records, first)[0]})


@pytest.mark.slow
def test_all_that_is_open_is_listed_at_once(tmp_path: Path) -> None:
    """Of zone, currency, menus and sales none stops the others; the scheme and the pages' parameter are found."""
    with Django() as service:
        done = init(tmp_path, service)
    assert done.returncode == 3, done.stdout + done.stderr
    wanted = ("business_day.timezone", "finance.currency", "partner.store.menu_id_pointers", "sales.counted_statuses")
    assert [key for key in wanted if f"--set {key}=" not in done.stdout] == []
    assert written(tmp_path)["authenticate"]["scheme"] == "JWT"
    assert written(tmp_path)["list_stores"]["cursor_parameter"] == "page[number]"


@pytest.mark.slow
def test_login_that_worked_is_kept_after_a_refused_token(tmp_path: Path) -> None:
    """Its path and body stay, in the next call, too; a header's name with a colon is refused before it is written."""

    class Odd(Django):
        login_path, scheme = "/access/give", "Odd"

    with Odd() as service:
        done = init(tmp_path, service, "authenticate.path=/access/give", "authenticate.header=Authorization")
        assert done.returncode == 3, done.stdout + done.stderr
        kept = written(tmp_path)["authenticate"]
        assert (kept["path"], kept["encoding"]) == ("/access/give", "json")
        assert kept["body"]["client_secret"] == "{client_secret}"
        refused = init(tmp_path, service, "authenticate.header=Authorization: Odd")
        assert refused.returncode == 2
        assert "without colon" in refused.stderr
        done = init(tmp_path, service, "authenticate.scheme=Odd")
        assert "business_day.timezone" in done.stdout, done.stdout + done.stderr
    assert written(tmp_path)["authenticate"] == {**kept, **written(tmp_path)["authenticate"]}


@pytest.mark.slow
def test_answers_are_asked_for_at_a_terminal(tmp_path: Path) -> None:
    """Address, client_id, secret, the login's own field, which statuses are sales: five answers, no secret shown."""
    with Toast() as service:
        (tmp_path / "ids").write_text("\n".join(map(str, service.world.order_ids)))
        answers = {
            "Address": service.base_url,
            "client_id": CLIENT_ID,
            "client_secret": CLIENT_SECRET,
            "userAccessType": "TOAST_MACHINE_CLIENT",
            "Statuses seen": "yes",
        }
        code, said = _typed(("init", str(tmp_path / "shop.toml"), "--order-ids", str(tmp_path / "ids")), answers)
    assert code == 0, said
    assert answers == {}
    assert CLIENT_SECRET not in said
    assert 'counted_statuses = ["delivered", "picked_up"]' in (tmp_path / "shop.toml").read_text()
    assert re.search(r"confirmed, of \d+ orders", (tmp_path / "shop.toml").read_text())


def _typed(arguments: tuple[str, ...], answers: dict[str, str]) -> tuple[int, str]:
    """Run the command at a terminal, and type each answer when its question is asked; take them from `answers`."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("ORDERMART_PARTNER")}
    pid, ours = pty.fork()  # the child's controlling terminal, as getpass wants one
    if pid == 0:
        os.chdir(ROOT)
        os.execve(sys.executable, [sys.executable, "-m", "pipelines.cli", *arguments], environ)  # noqa: S606
    said, seen = "", 0
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                said += os.read(ours, 65_536).decode()
            except OSError:  # the process has closed its end
                break
        question = said[seen:]
        asked = next((key for key in answers if key in question and question.endswith(": ")), None)
        if asked is not None:
            seen = len(said)
            os.write(ours, answers.pop(asked).encode() + b"\n")
    os.close(ours)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said


@pytest.mark.parametrize(
    "text",
    [
        '[partner]\nbase_url = "u" # ours\nlist_stores = { path = "/v2" }\n',
        '[partner.store]\nname_pointer = "/n"\n[data]\ndir = "x"\n[partner.list_stores]\npath = "/p"\n',
        "",
        "[sales]\n# Jo decides\ncounted_statuses = []  # none yet\n",
    ],
    ids=range(4),
)
def test_answers_are_written_into_any_form(text: str) -> None:
    """Tables in any order, inline tables and empty files take an answer; what was there stays."""
    after = with_answers(
        text, {"partner.store.id_pointer": ("/id", "five"), "sales.counted_statuses": (("a",), "said")}
    )
    tree = tomllib.loads(after)
    assert (tree["partner"]["store"]["id_pointer"], tree["sales"]["counted_statuses"]) == ("/id", ["a"])
    assert [word for word in ("ours", "Jo decides", "/v2", "/p") if word in text and word not in after] == []


def test_file_of_dotted_keys_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    """What cannot be completed is said first, with what to write instead."""
    file = tmp_path / "shop.toml"
    file.write_text('partner.base_url = "http://127.0.0.1:9"\npartner.store.id_pointer = "/id"\n')
    with pytest.raises(SettingsError, match=r"write them as \[partner.store\]"):
        make_settings(file, InitAnswers(), lambda *_: "x", {})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "counted"),
    [
        ("yes", ["delivered", "picked_up"]),
        ('"Yes"', ["delivered", "picked_up"]),
        ("delivered", ["delivered"]),
        ("no", []),
    ],
)
def test_statuses_are_answered_by_an_option_as_at_a_terminal(tmp_path: Path, answer: str, counted: list[str]) -> None:
    """Without a terminal `yes` confirms what was proposed, a list leaves the excluded ones, `no` writes nothing."""

    class Cancelling(Toast):
        def resource(self, request: Request, *, known: bool) -> Reply:
            reply = super().resource(request, known=known)
            if "/orders/" in request.path and request.path.endswith("0") and isinstance(reply.body, bytes):
                return Reply(reply.status, json.loads(reply.body) | {"status": "cancelled"})
            return reply

    with Cancelling() as service:
        words = ("authenticate.body.userAccessType=TOAST_MACHINE_CLIENT", f"sales.counted_statuses={answer}")
        done = init(tmp_path, service, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    sales = tomllib.loads((tmp_path / "shop.toml").read_text(encoding="utf-8")).get("sales", {})
    excluded = ["cancelled"] if counted else []
    assert (sales.get("counted_statuses", []), sales.get("excluded_statuses", [])) == (counted, excluded)
