"""A release in object storage: two unrelated servers of S3's protocol, and a folder."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

obstore = pytest.importorskip("obstore", reason="obstore is not installed: pip install 'ordermart[storage]'")

from pipelines.clock import utc_now  # noqa: E402
from pipelines.privacy import PersonRequest, erase  # noqa: E402
from pipelines.read import connect  # noqa: E402
from pipelines.record import COPYING, Step  # noqa: E402
from pipelines.report.night_alarms import after_run  # noqa: E402
from pipelines.report.outcomes import erased  # noqa: E402
from pipelines.report.page.morning import write_morning_page  # noqa: E402
from pipelines.report.status import status, status_lines  # noqa: E402
from pipelines.run.steps import run_maintenance  # noqa: E402
from pipelines.settings import SettingsError, load_settings  # noqa: E402
from pipelines.warehouse.release.copies import CopyError, copies_holding, copy_release  # noqa: E402
from pipelines.warehouse.release.object_storage import check_copy  # noqa: E402
from tests.canaries import Marks  # noqa: E402
from tests.own.conftest import write  # noqa: E402
from tests.privacy.conftest import ANN, BOB, NOTE, copied, person  # noqa: E402
from tests.readers import differences_of_copy  # noqa: E402
from tests.recorded import recorded  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from tests.privacy.conftest import World

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {"moto": ROOT / ".venv-storage/bin/moto_server", "s3rver": ROOT / ".venv-storage/node_modules/.bin/s3rver"}
SPARK = ROOT / ".venv-readers" / "bin" / "python"  # `.ci/run` makes it
pytestmark = pytest.mark.slow


def free_port() -> int:
    """Return a port of loopback that is free."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Start the servers that are installed, in the environment of their own; give their addresses by name."""
    folder = tmp_path_factory.mktemp("s3rver")
    with contextlib.ExitStack() as stack:
        found = {}
        for name, program in PROGRAMS.items():
            if not program.exists():
                continue
            port = free_port()
            options = {
                "moto": ["-H", "127.0.0.1", "-p", str(port)],
                "s3rver": ["-a", "127.0.0.1", "-p", str(port), "-d", str(folder), "--configure-bucket", "mart"],
            }
            log = stack.enter_context((folder.parent / f"{name}.log").open("wb"))
            process = stack.enter_context(
                subprocess.Popen([str(program), *options[name]], stdout=log, stderr=subprocess.STDOUT)
            )
            stack.callback(process.kill)
            for _ in range(300):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.1)
            found[name] = f"http://127.0.0.1:{port}"
            if name == "moto":
                found["log"] = log.name
                bucket = urllib.request.Request(f"{found[name]}/mart", method="PUT")  # noqa: S310 - loopback
                urllib.request.urlopen(bucket, timeout=30).close()  # noqa: S310 - loopback
        yield found


def use_server(name: str, servers: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have clients ask a server; skip the test where it is not installed."""
    if name not in servers:
        pytest.skip(f"{PROGRAMS[name].relative_to(ROOT)} is not installed: .ci/run does it")
    for key, value in {
        "AWS_ENDPOINT_URL": servers[name],
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "S3RVER",
        "AWS_SECRET_ACCESS_KEY": "S3RVER",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(key, value)


@pytest.fixture(params=["moto", "s3rver", "folder"])
def url(
    request: pytest.FixtureRequest, servers: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Give the URL of an empty prefix, and a cache of one's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if request.param == "folder":
        return f"file://{tmp_path}/copy"
    use_server(request.param, servers, monkeypatch)
    return f"s3://mart/{tmp_path.name}"


def store(url: str) -> Any:
    """Return the store of a URL."""
    return obstore.store.from_url(url)


def keys(url: str, prefix: str = "") -> set[str]:
    """Return the keys below a prefix."""
    return {each["path"] for some in store(url).list(prefix) for each in some}


def current(url: str) -> dict[str, Any]:
    """Return what current.json says."""
    found: dict[str, Any] = json.loads(bytes(store(url).get("current.json").bytes()))
    return found


def sums(con: duckdb.DuckDBPyConnection) -> dict[str, tuple[Any, ...]]:
    """Return how many rows each table has, and a hash of them all."""
    tables = con.sql("select schema || '.' || name from (show all tables) where schema <> 'main'").fetchall()
    return {
        name: con.sql(f"select count(*), sum(hash(each)::hugeint) from {name} as each").fetchone() or ()
        for (name,) in tables
    }


def test_copy_is_the_release_and_is_written_once(own: World, url: str) -> None:
    """Tables of the copy equal those on the disk; a second copy uploads nothing; a change uploads what it changed."""
    done = copy_release(own.settings, url)
    assert done.objects > 50
    assert sums(connect(url)) == sums(connect(own.data))
    assert copy_release(own.settings, url).objects == 0
    own.land("orders", [person(12, BOB, created_at="2021-03-01T10:00:00Z")])
    own.publish()
    changed = copy_release(own.settings, url)
    assert 0 < changed.objects < done.objects
    assert sums(connect(url)) == sums(connect(own.data))
    checked = check_copy(url)
    assert (checked.faults, checked.checked > 50) == ([], True)


@pytest.mark.parametrize("reader", ["duckdb", "polars", "pandas", "pyarrow"])
def test_readers_find_every_table_by_the_list_of_its_files(changed: tuple[World, Path], reader: str) -> None:
    """Rows, exact sums and types of each table are those of the copy's DuckDB file, by current.json alone."""
    tables = json.loads((changed[1] / "current.json").read_text("utf-8"))["tables"]
    assert {name.partition(".")[0] for name in tables} == {"core", "mart", "audit", "workings", "own", "ref", "meta"}
    assert list(differences_of_copy(changed[1], reader)) == []


def test_recipes_of_the_document_read_a_bucket(
    changed: tuple[World, Path], servers: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What docs/BI.md says of DuckDB, pandas and Polars reads the orders from a server, to the last digit."""
    use_server("moto", servers, monkeypatch)
    world = changed[0]
    copy_release(world.settings, f"s3://mart/{tmp_path.name}")
    text = (ROOT / "docs" / "BI.md").read_text("utf-8").partition("## Object storage")[2]
    recipe = text.partition("```python\n")[2].partition("```")[0]
    shown: dict[str, Any] = {}
    exec(recipe.replace("BUCKET/PREFIX", f"mart/{tmp_path.name}"), shown)  # noqa: S102 -- our own document
    priced = world.rows("select total_price from mart.orders where total_price is not null order by order_id")
    assert (
        shown["of_duckdb"].filter("total_price is not null").order("order_id").project("total_price").fetchall()
        == priced
    )
    stated = [(price,) for price in shown["of_pandas"].sort_values("order_id")["total_price"].dropna()]
    assert stated == priced
    assert shown["of_polars"].sort("order_id").select("total_price").drop_nulls().rows() == priced
    mine = pl.scan_parquet([f"s3://{file}" for file in shown["files"]], hive_partitioning=True)
    assert mine.collect().sort("order_id").select("total_price").drop_nulls().rows() == priced


@pytest.mark.readers
@pytest.mark.timeout(900)  # Spark plans each table
@pytest.mark.skipif(not SPARK.exists(), reason="DuckDB 1.4 and Spark are not installed: requirements-readers.lock")
def test_spark_and_duckdb_1_4_find_every_table_too(changed: tuple[World, Path]) -> None:
    """So do Spark and an older DuckDB, in an environment of their own."""
    command = [str(SPARK), str(ROOT / "tests" / "readers.py"), "--copy", str(changed[1]), "duckdb", "spark"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.stdout.splitlines() == ["duckdb: 0 differences", "spark: 0 differences"], done.stderr[-2000:]


HTTPFS = """
import json, pathlib, sys
import duckdb, duckdb_ext
endpoint, bucket = sys.argv[1:]
con = duckdb.connect(config={"threads": 1})
folders = [pathlib.Path(each) for each in duckdb_ext.__path__]
file = next(each for folder in folders for each in folder.rglob(f"v{duckdb.__version__}/*/httpfs.duckdb_extension"))
con.execute(f"load '{file}'")
con.execute(f"create secret (type s3, key_id 'x', secret 'y', region 'us-east-1', endpoint '{endpoint}', "
    "url_style 'path', use_ssl false)")
(text,) = con.execute(f"select content from read_text('{bucket}/current.json')").fetchone()
found = {}
for name, keys in json.loads(text)["tables"].items():
    files = [f"{bucket}/{key}" for key in keys]
    amount = "sum(total_price)::varchar" if name == "mart.orders" else "''"
    found[name] = con.sql(f"select count(*), {amount} from read_parquet({files}, hive_partitioning = true)").fetchone()
print(json.dumps(found))
"""


@pytest.mark.readers
@pytest.mark.skipif(not SPARK.exists(), reason="DuckDB 1.4 and httpfs are not installed: requirements-readers.lock")
def test_duckdb_reads_a_bucket_by_its_own_extension(
    changed: tuple[World, Path], servers: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With httpfs: every table that current.json lists, with its rows, and amounts to the last digit."""
    use_server("moto", servers, monkeypatch)
    url = f"s3://mart/{tmp_path.name}"
    copy_release(changed[0].settings, url)
    command = [str(SPARK), "-c", HTTPFS, servers["moto"].removeprefix("http://"), url]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    con = connect(url)
    expected = {name: [rows, ""] for name, (rows, _) in sums(con).items()}
    expected["mart.orders"] = list(con.sql("select count(*), sum(total_price)::varchar from mart.orders").fetchall()[0])
    assert json.loads(done.stdout) == expected


@pytest.fixture(scope="module")
def changed(first: World, tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Path]:
    """Give a folder with a release that differs from that of its copy, and the copy's folder."""
    place = tmp_path_factory.mktemp("changed")
    own = copied(first, place / "place")
    copy_release(own.settings, f"file://{place}/copy")
    own.land("orders", [person(12, BOB, status="later"), person(4, ANN)])
    own.publish()
    return own, place / "copy"


@pytest.mark.parametrize("at", [0, 10, 20])
def test_killed_copy_leaves_the_old_release(changed: tuple[World, Path], tmp_path: Path, at: int) -> None:
    """SIGKILL: readers of a folder have the old release, whole, and the next copy has all of the new one."""
    own, copy = changed
    shutil.copytree(copy, tmp_path / "copy")
    url = f"file://{tmp_path}/copy"
    before = current(url)["id"]
    code = (
        "import os, pathlib\n"
        "from pipelines.settings import load_settings\n"
        "from pipelines.warehouse.release.copies import copy_release\n"
        "def die(_what, done, total):\n"
        f"    if done * 20 >= total * {at}: os.kill(os.getpid(), 9)\n"
        f"copy_release(load_settings(pathlib.Path({str(own.file)!r})), {url!r}, die)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], env=os.environ | own.environ, check=False, cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL
    assert (current(url)["id"], check_copy(url).faults) == (before, [])
    copy_release(own.settings, url)
    assert (current(url)["id"] != before, check_copy(url).faults) == (True, [])


FORKING = """
import os, pathlib, sys
from pipelines.settings import load_settings
from pipelines.warehouse.release import object_storage
from pipelines.warehouse.release.copies import copy_release
import obstore.store
settings = load_settings(pathlib.Path(sys.argv[1]))
for url in sys.stdin:
    child = os.fork()
    if not child:
        copy_release(settings, url.strip())
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Killing(BaseHTTPRequestHandler):
    """Forward requests; at one of a number end the process that asks, before or after the server has the request."""

    protocol_version = "HTTP/1.1"
    server_at, process, at, after = "", 0, -1, False
    seen: list[str] = []  # noqa: RUF012 - each test has a class of its own
    lock = threading.Lock()

    def forward(self) -> None:
        """Count, forward and answer."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.lock:
            number = len(self.seen)
            dies = number == self.at
            if not 0 <= self.at < number and (not dies or self.after):
                self.seen.append(f"{self.command} {self.path}")
        if 0 <= self.at < number:
            return
        if dies and not self.after:
            self.end()
            return
        link = http.client.HTTPConnection(self.server_at)
        link.request(self.command, self.path, body, dict(self.headers))
        answer = link.getresponse()
        content = answer.read()
        if dies:
            self.end()
            return
        with contextlib.suppress(OSError):  # of a process that has ended
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.casefold() not in {"connection", "transfer-encoding", "content-length", "server", "date"}:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def end(self) -> None:
        """End the process."""
        while not type(self).process:
            time.sleep(0.01)
        os.kill(self.process, signal.SIGKILL)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = forward  # noqa: N815 - as the library wants them

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def lies_whole(url: str) -> bool:
    """Tell whether every object of the current release is listed with its size; its name is its content."""
    there = {each["path"]: each["size"] for some in store(url).list("data/") for each in some}
    now = current(url)
    return all(there.get(each["key"]) == each["bytes"] for each in (*now["files"], *now["database"]))


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "kills", [7, pytest.param(20, marks=pytest.mark.long)]
)  # 7: 3 early ones, those around the switch
def test_copy_to_a_server_killed_at_requests_leaves_a_whole_release(
    kills: int, changed: tuple[World, Path], servers: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before the server has a request, or after: the old release until current.json is written, then the new one."""
    use_server("moto", servers, monkeypatch)
    own, copy = changed
    url = f"s3://mart/{tmp_path.name}"
    before = {
        file.relative_to(copy).as_posix(): file.read_bytes()
        for file in copy.rglob("*")
        if file.is_file() and file.name != ".lock"
    }

    def reset() -> None:
        there = keys(url)
        if there - before.keys():
            store(url).delete(sorted(there - before.keys()))
        for key in (before.keys() - there) | {"current.json"}:
            store(url).put(key, before[key])

    old, new = json.loads(before["current.json"])["id"], (own.data / "published" / "current").readlink().name
    handler = type("Handler", (Killing,), {"server_at": servers["moto"].removeprefix("http://"), "seen": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        asked = os.environ | own.environ | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{proxy.server_port}"}
        with subprocess.Popen(
            [sys.executable, "-c", FORKING, str(own.file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=asked,
            cwd=ROOT,
            text=True,
        ) as forks:
            assert forks.stdin
            assert forks.stdout

            def copied_until(at: int, *, after: bool) -> int:
                handler.process, handler.at, handler.after, handler.seen = 0, at, after, []
                forks.stdin.write(f"{url}\n")  # type: ignore[union-attr]
                forks.stdin.flush()  # type: ignore[union-attr]
                handler.process = int(forks.stdout.readline())  # type: ignore[union-attr]
                return int(forks.stdout.readline())  # type: ignore[union-attr]

            reset()
            assert copied_until(-1, after=False) == 0
            requests = handler.seen
            switch = next(number for number, each in enumerate(requests) if f"PUT /mart/{tmp_path.name}/curr" in each)
            assert len(requests) > switch + 1
            points = [*range(0, switch - 1, max(1, (switch - 1) // (kills - 4)))][: kills - 4]
            points += [switch - 1, switch, switch, len(requests) - 1]
            assert len(points) == kills
            for number, at in enumerate(points):
                reset()
                assert copied_until(at, after=number % 2 == 1) == -signal.SIGKILL
                is_switched = any(f"PUT /mart/{tmp_path.name}/curr" in each for each in handler.seen)
                assert is_switched == (at > switch or (at == switch and number % 2 == 1))
                assert (current(url)["id"], lies_whole(url)) == (new if is_switched else old, True)
                if number % 5 == 0:
                    copy_release(own.settings, url)
                    assert (current(url)["id"], check_copy(url).faults) == (new, [])
        proxy.shutdown()


def test_second_of_two_writers_learns_that_it_lost(own: World, url: str, request: pytest.FixtureRequest) -> None:
    """Another copy that switches in between wins; this one says so, and the release that it left stays whole."""
    if "s3rver" in request.node.name:
        pytest.skip("s3rver ignores If-Match: conditional writes are shown by moto and by the folder")
    copy_release(own.settings, url)
    own.land("orders", [person(12, BOB)])
    own.publish()
    seen = []

    def another(_what: str, done: int, total: int) -> None:
        if done == total and not seen:
            seen.append(store(url).put("current.json", bytes(store(url).get("current.json").bytes()) + b"\n"))

    with pytest.raises(CopyError, match="another copy finished first"):
        copy_release(own.settings, url, another)
    assert check_copy(url).faults == []
    assert copy_release(own.settings, url).release_id == current(url)["id"]


def test_first_writer_of_two_wins_on_an_empty_prefix(own: World, tmp_path: Path) -> None:
    """Where nothing was, current.json is created, not replaced."""
    url = f"file://{tmp_path}/copy"
    own.publish()
    (tmp_path / "copy").mkdir()

    def another(_what: str, done: int, total: int) -> None:
        if done == total:
            (tmp_path / "copy" / "current.json").write_text("{}", encoding="utf-8")

    with pytest.raises(CopyError, match="another copy finished first"):
        copy_release(own.settings, url, another)


def test_changed_and_missing_objects_are_named(own: World, url: str) -> None:
    """A check reads every object: one that is gone, cut or has another content is named; the command ends with 3."""
    copy_release(own.settings, url)
    gone, cut, other = sorted(keys(url, "data/mart"))[:3]
    store(url).delete(gone)
    store(url).put(cut, bytes(store(url).get(cut).bytes())[:-1])
    content = bytearray(bytes(store(url).get(other).bytes()))
    content[len(content) // 2] ^= 1
    store(url).put(other, bytes(content))
    faults = check_copy(url).faults
    assert sorted(fault.split()[0] for fault in faults) == sorted([gone, cut, other])
    assert [word for word in ("is missing", "bytes instead of", "another content") if word in " ".join(faults)] == [
        "is missing",
        "bytes instead of",
        "another content",
    ]


def test_stale_objects_go_and_those_of_readers_stay(changed: tuple[World, Path], tmp_path: Path) -> None:
    """A release of the last day stays whole; what a killed copy named goes after it; what others wrote stays."""
    own, copy = changed
    shutil.copytree(copy, tmp_path / "copy")
    url, place = f"file://{tmp_path}/copy", tmp_path / "copy"
    first = current(url)
    copy_release(own.settings, url)
    assert {each["key"] for each in (*first["files"], *first["database"])} <= keys(url)
    left = first | {"id": "gone", "files": [first["files"][0] | {"key": f"data/mart/orders/{'0' * 64}.parquet"}]}
    (place / left["files"][0]["key"]).write_bytes(b"of a killed copy")
    theirs = {f"data/mart/orders/{'1' * 64}.parquet", "data/database/theirs", "releases/gone/theirs.sqlite"}
    theirs |= {"releases/theirs/manifest.json", "releases/theirs/x.sql"}
    (place / "releases" / "gone").mkdir()
    (place / "releases" / "theirs").mkdir()
    for key in theirs:
        (place / key).write_text("{}", encoding="utf-8")
    (place / "releases" / "gone" / "athena.sql").write_text("--", encoding="utf-8")
    (place / "releases" / "gone" / "manifest.json").write_text(json.dumps(left), encoding="utf-8")
    old = time.time() - 3 * 86_400
    for path in place.rglob("*"):
        os.utime(path, (old, old))
    older = current(url) | {
        "id": "0",
        "earlier": {},
    }
    (place / "current.json").write_text(json.dumps(older), encoding="utf-8")
    (place / "releases" / "0").mkdir()
    (place / "releases" / "0" / "manifest.json").write_text(json.dumps(older), encoding="utf-8")
    copy_release(own.settings, url)
    now = current(url)
    assert theirs <= keys(url)
    assert keys(url, "data") - theirs == {each["key"] for each in (*now["files"], *now["database"])}
    assert {key.split("/")[1] for key in keys(url, "releases") - theirs} == {"0", now["id"]}


@pytest.mark.parametrize(
    "url", ["moto", *(pytest.param(name, marks=pytest.mark.long) for name in ("folder", "s3rver"))], indirect=True
)
def test_erased_person_is_in_no_object_after_the_next_copy(own: World, url: str, tmp_path: Path) -> None:
    """The receipt names the copy until then; at once, also for objects of releases that would else stay a day."""
    write(own, "people", "-- One row per order.\nselect order_id, customer_key from mart.orders")
    own.land("orders", [person(5, ANN, dispatch_note=NOTE)])
    own.publish()
    copy_release(own.settings, url)
    key = str(own.rows("select customer_key from own.people where order_id = 1")[0][0])
    assert {"own.people"} < {*holders(url, key)}
    assert any(name.endswith(".parquet") for name in objects_with(tmp_path / "before", url, NOTE))
    done = erase(own.settings, PersonRequest("phone", ANN))
    assert copies_holding(own.data, done.entry.moment if done.entry else None) == [url]
    copy_release(own.settings, url)
    assert copies_holding(own.data, done.entry.moment if done.entry else None) == []
    assert check_copy(url).faults == []
    assert list(current(url)["earlier"]) == []
    assert objects_with(tmp_path / "after", url, NOTE, key) == []


def objects_with(place: Path, url: str, *marks: str) -> list[str]:
    """Return the objects below a prefix that hold a mark, the pieces of the database as the one file they are."""
    place.mkdir()
    contents = {key: bytes(store(url).get(key).bytes()) for key in keys(url)}
    for key, content in contents.items():
        if not key.startswith("data/database/"):
            (place / key.replace("/", "_")).write_bytes(content)
    (place / "whole.duckdb").write_bytes(b"".join(contents[each["key"]] for each in current(url)["database"]))
    return Marks(*marks).hits(place)


def holders(url: str, key: str) -> list[str]:
    """Return the tables of a copy that lead to a customer."""
    con = connect(url)
    tables = con.sql("select table_name from meta.columns where column_name = 'customer_key'").fetchall()
    return [name for (name,) in tables if con.sql(f"from {name} where customer_key = '{key}'").fetchall()]


@pytest.mark.parametrize(
    ("place", "error", "words"),
    [
        ("s3://nowhere/x", CopyError, "bucket does not exist"),
        ("s3://user:secret@mart/x", SettingsError, "by the environment"),
        ("file://" + "/proc/x", CopyError, "has the release that it had"),
        ("s3://mart/foreign", CopyError, "choose another prefix"),
    ],
)
def test_faults_are_one_sentence(
    first: World,
    servers: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    error: type[Exception],
    words: str,
) -> None:
    """A bucket that is not there, a secret in a URL, a folder that cannot be written, somebody else's current.json."""
    use_server("moto", servers, monkeypatch)
    if "foreign" in place:
        store(place).put("current.json", b"[1]")
    with pytest.raises(error, match=words) as raised:
        copy_release(first.settings, place)
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


ANSWERS = {  # status, code and header of an answer of S3, and the sentence for it
    "expired": (400, "ExpiredToken", "", "the credentials have expired: renew them"),
    "full": (403, "QuotaExceeded", "", "the storage is full"),
    "full by quota of MinIO": (403, "XMinioAdminBucketQuotaExceeded", "", "the storage is full"),
    "full by its status": (507, "", "", "the storage is full"),
    "full by name": (507, "InsufficientStorage", "", "the storage is full"),
    "token": (400, "TokenRefreshRequired", "", "the credentials have expired: renew them"),
    "no token": (400, "InvalidToken", "", "the credentials are not valid"),
    "region by place": (400, "IllegalLocationConstraintException", "", "the bucket is in another region"),
    "region by name": (400, "AuthorizationHeaderMalformed", "", "the bucket is in another region: set AWS_REGION"),
    "region by redirect": (301, "PermanentRedirect", "", "the bucket is in another region: set AWS_REGION"),
    "no bucket": (404, "NoSuchBucket", "", "the bucket does not exist"),
    "key": (403, "InvalidAccessKeyId", "", "the credentials are not valid"),
    "secret": (403, "SignatureDoesNotMatch", "", "the credentials are not valid"),
    "right": (403, "AccessDenied", "", "access is denied: the role needs to list, read, write and delete"),
    "something else": (400, "EntityTooLarge", "", "the store answered 400 EntityTooLarge$"),
}


class Answering(BaseHTTPRequestHandler):
    """Answer every write, and where `on` says so every request, with one error."""

    status, code, on = 0, "", "all"

    def answer(self) -> None:
        """Answer with the error; to a read of an empty bucket with nothing."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, code = (self.status, self.code) if self.on in {"all", self.command} else (404, "NoSuchKey")
        if "list-type" in self.path and self.on == "PUT":
            status, code = 200, ""
        body = b"<ListBucketResult></ListBucketResult>"
        if code:
            body = (
                f"<Error><Code>{code}</Code><Message>Account 4711: no quota in any region.</Message></Error>".encode()
            )
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = answer  # noqa: N815 - as the library wants them

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("on", ["all", "PUT"])
def test_answers_of_a_store_are_one_sentence(
    changed: tuple[World, Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
    on: str,
) -> None:
    """Whether reads fail too or writes alone: cause and remedy, the place, and nothing of the store's own text.

    Words of keys and prefixes mean nothing.
    """
    status, code, _, words = ANSWERS[name]
    handler = type("Handler", (Answering,), {"status": status, "code": code, "on": on})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        use_server("here", {"here": f"http://127.0.0.1:{server.server_port}"}, monkeypatch)
        with pytest.raises(CopyError, match=words) as raised:
            copy_release(changed[0].settings, "s3://mart/expired/507-full-quota-region")
        server.shutdown()
    said = str(raised.value)
    assert said.startswith("s3://mart/expired/507-full-quota-region has the release that it had: ")
    assert [word for word in ("4711", "S3RVER", "\n", "127.0.0.1") if word in said + caplog.text] == []


AZURE = {
    "no container": (404, "ContainerNotFound", "the bucket does not exist"),
    "key": (403, "AuthenticationFailed", "the credentials are not valid"),
    "right": (403, "AuthorizationPermissionMismatch", "access is denied: the role needs to list, read"),
    "no account": (0, "", "there is no account: set AZURE_STORAGE_ACCOUNT_NAME"),
}


@pytest.mark.parametrize("name", AZURE)
def test_answers_of_azure_are_one_sentence(
    changed: tuple[World, Path], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """az:// and abfss:// speak their own protocol: its codes have the same sentences."""
    status, code, words = AZURE[name]
    handler = type("Handler", (Answering,), {"status": status, "code": code})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("AZURE_ALLOW_HTTP", "true")
        if status:
            monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "mart")
            monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0")
        with pytest.raises(CopyError, match=words) as raised:
            copy_release(changed[0].settings, "az://container/prefix")
        server.shutdown()
    assert [word for word in ("4711", "c2VjcmV0", "\n", "127.0.0.1") if word in str(raised.value)] == []


@pytest.mark.parametrize("url", ["gs://mart/prefix", "abfss://container@mart.dfs.core.windows.net/prefix"])
def test_keys_that_are_none_are_one_sentence(
    changed: tuple[World, Path], monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """A key that cannot be read is said, and not shown; the container in a URL of Azure is no secret."""
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", '{"secret": 4711}')
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "not base64 4711!")
    with pytest.raises(CopyError, match="has the release that it had: ") as raised:
        copy_release(changed[0].settings, url)
    assert [word for word in ("4711", "\n") if word in str(raised.value)] == []


def test_unchanged_release_costs_one_request(
    changed: tuple[World, Path], servers: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The second copy reads current.json, and sends no data."""
    use_server("moto", servers, monkeypatch)
    url = f"s3://mart/{tmp_path.name}"
    settings = changed[0].settings
    copy_release(settings, url)
    log = Path(servers["log"])
    before = len(log.read_text("utf-8").splitlines())
    assert copy_release(settings, url).objects == 0
    requests = log.read_text("utf-8").splitlines()[before:]
    assert [f"GET /mart/{tmp_path.name}/current.json" in line for line in requests] == [True]


def test_two_writers_at_once_leave_a_whole_release(
    changed: tuple[World, Path], servers: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two processes copy two releases to one empty prefix: the current one is whole, and the loser says so."""
    use_server("moto", servers, monkeypatch)
    other = copied(changed[0], tmp_path / "other")
    other.land("orders", [person(13, ANN)])
    other.publish()
    url = f"s3://mart/{tmp_path.name}"
    for _ in range(2):
        code = (
            "import pathlib, sys\n"
            "from pipelines.settings import load_settings\n"
            "from pipelines.warehouse.release.copies import CopyError, copy_release\n"
            "try: print(copy_release(load_settings(pathlib.Path(sys.argv[1])), sys.argv[2]).release_id)\n"
            "except CopyError as error: print(error)\n"
        )
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", code, str(world.file), url],
                env=os.environ | world.environ,
                cwd=ROOT,
                stdout=subprocess.PIPE,
                text=True,
            )
            for world in (changed[0], other)
        ]
        said = [writer.communicate(timeout=120)[0].strip() for writer in writers]
        assert current(url)["id"] in said
        assert [each for each in said if " " in each and "another copy finished first" not in each] == []
        assert check_copy(url).faults == []


def test_prefix_of_others_is_left_alone(first: World, tmp_path: Path) -> None:
    """Files that no copy writes lie below data/: nothing is copied, and nothing removed."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "theirs.parquet").write_bytes(b"x")
    with pytest.raises(CopyError, match="has other files below data/: choose another prefix"):
        copy_release(first.settings, f"file://{tmp_path}")
    assert keys(f"file://{tmp_path}") == {"data/theirs.parquet"}


def test_objects_of_a_killed_first_copy_go_after_an_erasure(own: World, tmp_path: Path) -> None:
    """Nothing was current yet: what was uploaded before the erasure does not stay for a day."""
    url = f"file://{tmp_path}/copy"

    class KilledError(Exception):
        """Stand for a kill once all is uploaded."""

    def die(_what: str, done: int, total: int) -> None:
        if done == total:
            raise KilledError

    with pytest.raises(KilledError):
        copy_release(own.settings, url, die)
    done = erase(own.settings, PersonRequest("phone", ANN))
    assert url in copies_holding(own.data, done.entry.moment if done.entry else None)
    copy_release(own.settings, url)
    now = current(url)
    assert keys(url, "data") == {each["key"] for each in (*now["files"], *now["database"])}
    assert objects_with(tmp_path / "after", url, NOTE) == []


def test_receipt_names_bucket_and_prefix(own: World, tmp_path: Path) -> None:
    """What still has an older release is named by its URL, and by no other name."""
    done = erase(own.settings, PersonRequest("phone", ANN))
    lines = [line for line in erased(done, [], [f"s3://mart/{tmp_path.name}"]) if line.startswith("STILL HELD")]
    assert [line.split(" has ")[0] for line in lines] == [f"STILL HELD  s3://mart/{tmp_path.name}"]
    assert "Versioned buckets keep it" in lines[0]


def test_failed_copy_stops_no_night_and_is_told(own: World, tmp_path: Path) -> None:
    """One of two places fails: the other has the release; alarm, status and page name place and cause."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    bad, good = f"file://{tmp_path}/file/copy", f"file://{tmp_path}/copy"
    settings = load_settings(
        own.file, own.environ | {"ORDERMART_VERIFY__SECONDS": "0", "ORDERMART_RELEASE__COPIES": json.dumps([bad, good])}
    )
    run = recorded(utc_now(), is_new=False)
    run.release = run.release_before = (own.data / "published" / "current").readlink().name
    results = [task for task in run_maintenance(settings) if task.error]
    assert [task.task for task in results] == [COPYING]
    run.steps.append(Step("maintenance", utc_now(), utc_now(), shortfalls=[f"{COPYING}: {results[0].error}"]))
    after_run(settings, run, utc_now())
    state = status(settings)
    (alarm,) = [each for each in state["alarms"] if each["cause"] == "copies"]
    assert alarm["text"].startswith(f"The release was not copied everywhere: {bad} has the release that it had: ")
    assert "ordermart copy --to URL" in alarm["text"]
    assert any(alarm["text"] in line for line in status_lines(state))
    assert write_morning_page(settings, run) == ""
    assert "The release was not copied everywhere" in (own.data / "published" / "morning.html").read_text("utf-8")
    assert check_copy(good).faults == []
    after_run(settings, recorded(utc_now()), utc_now())
    assert [each["cause"] for each in status(settings)["alarms"] if each["cause"] == "copies"] == []


def test_statements_for_other_warehouses_name_every_column(own: World, tmp_path: Path) -> None:
    """Types, partitions and comments come from the contracts; Athena's lists name the files of the release."""
    copy_release(own.settings, f"file://{tmp_path}/copy")
    folder = next((tmp_path / "copy" / "releases").iterdir())
    athena = (folder / "athena.sql").read_text("utf-8")
    assert "`total_price` decimal(18,4) comment" in athena
    assert "partitioned by (`business_month` string)" in athena
    assert "`total_price`" in athena
    assert 'total_price decimal(18,4) as (value:"total_price"' in (folder / "snowflake.sql").read_text("utf-8")
    assert "create or replace external table mart_orders" in (folder / "bigquery.sql").read_text("utf-8")
    listed = {
        line
        for file in (folder / "symlinks").rglob("symlink.txt")
        for line in file.read_text("utf-8").split("\n")
        if line
    }
    wanted = {
        f"file://{tmp_path}/copy/{key}"
        for some in current(f"file://{tmp_path}/copy")["tables"].values()
        for key in some
    }
    assert listed == wanted
