"""A release in PostgreSQL: a real server, started for these tests, where Debian's is installed."""

from __future__ import annotations

import contextlib
import datetime as dt
import getpass
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.privacy import PersonRequest, erase
from pipelines.settings import SettingsError
from pipelines.warehouse.release.copies import CopyError, copies_holding, copy_release
from tests.canaries import Marks
from tests.own.conftest import write
from tests.privacy.conftest import ANN, BOB, person

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.privacy.conftest import World

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'ordermart[postgres]'")
BIN = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/nowhere"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.postgres,
    pytest.mark.skipif(not (BIN / "initdb").exists(), reason="PostgreSQL is not installed: apt install postgresql"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Start a server of one's own, on a socket alone; give the URL of a database."""
    folder = Path(tempfile.mkdtemp(prefix="ordermart-postgres-"))  # pytest closes its own folders to other users
    is_root = os.geteuid() == 0  # which PostgreSQL refuses to run as
    user = "postgres" if is_root else getpass.getuser()
    as_user = ["runuser", "-u", user, "--"] if is_root else []
    if is_root:
        shutil.chown(folder, user)

    def run(*command: str) -> None:
        subprocess.run([*as_user, *command], check=True, capture_output=True, cwd="/", timeout=120)

    run(str(BIN / "initdb"), "-D", f"{folder}/data", "-A", "trust", "--no-sync", "-U", user)
    rules = folder / "data" / "pg_hba.conf"
    rules.write_text("local all keeper scram-sha-256\n" + rules.read_text("utf-8"), encoding="utf-8")
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    run(str(BIN / "pg_ctl"), "-D", f"{folder}/data", "-o", options, "-l", f"{folder}/log", "-w", "start")
    try:
        yield f"postgresql:///postgres?host={folder}&user={user}"
    finally:
        run(str(BIN / "pg_ctl"), "-D", f"{folder}/data", "-m", "immediate", "stop")
        shutil.rmtree(folder)


@pytest.fixture
def url(server: str) -> Iterator[str]:
    """Give the URL of an empty database."""
    with psycopg.connect(server, autocommit=True) as con:
        con.execute("create database one")
    yield server.replace("///postgres", "///one")
    with psycopg.connect(server, autocommit=True) as con:
        con.execute("drop database one with (force)")
        con.execute("drop role if exists reader")


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query."""
    with psycopg.connect(url) as con:
        con.execute("set timezone = 'UTC'")
        return con.execute(query).fetchall()


def assert_same(world: World, url: str) -> None:
    """Every table of core, mart and own has the same rows in both, to the last digit and in the same types."""
    tables = world.rows("select table_name from meta.tables where table_name ~ '^(core|mart|own)' order by 1")
    for (name,) in tables:
        columns = world.rows(f"select column_name from meta.columns where table_name = '{name}' order by column_no")
        listed = ", ".join(f'"{column}"' for (column,) in columns)
        own = sorted(map(repr, world.rows(f"select {listed} from {name}")))
        assert [each.replace("<StaticTzInfo 'Etc/UTC'>", "UTC") for each in own] == sorted(
            repr(each).replace("zoneinfo.ZoneInfo(key='UTC')", "UTC").replace("datetime.timezone.utc", "UTC")
            for each in rows(url, f"select {listed} from {name}")
        ), name


def test_copy_is_the_release(first: World, url: str) -> None:
    """The same rows, exact types, lists, comments; the second time nothing is written."""
    done = copy_release(first.settings, url)
    assert done.rows > 0
    assert_same(first, url)
    kinds = dict(
        rows(
            url,
            "select attname, format_type(atttypid, atttypmod) from pg_attribute "
            "where attrelid = 'mart.orders'::regclass and attnum > 0",
        )
    )
    assert (kinds["total_price"], kinds["created_at"], kinds["order_id"]) == (
        "numeric(18,4)",
        "timestamp with time zone",
        "bigint",
    )
    assert rows(url, "select order_id, total_price from mart.orders where order_id = 1") == [(1, Decimal("13.5000"))]
    assert "One row per week" in rows(url, "select obj_description('own.weekly'::regclass)")[0][0]
    assert rows(url, "select col_description('own.weekly'::regclass, 1)") == [("The Monday.",)]
    again = copy_release(first.settings, url)
    assert (again.tables, again.parts, again.rows) == (0, 0, 0)


def test_copy_writes_what_changed_alone_and_keeps_rights(own: World, url: str) -> None:
    """A new order replaces the parts of its month; a role may read as before, also a table with other columns."""
    own.publish()
    copy_release(own.settings, url)
    with psycopg.connect(url, autocommit=True) as con:
        con.execute("create role reader")
        con.execute("grant usage on schema mart, own to reader")
        con.execute("grant select on mart.orders, own.weekly to reader")
    own.land("orders", [person(12, BOB, created_at="2021-03-01T10:00:00Z")])
    write(own, "weekly", "-- One row per day.\nselect business_date, count(*) as n from mart.orders group by all")
    (own.place / "models" / "total.sql").unlink()
    own.publish()
    before = dict(rows(url, "select tableoid::regclass::text, count(*) from core.orders group by 1"))
    done = copy_release(own.settings, url)
    assert done.tables < len(rows(url, "select * from ordermart.tables"))
    assert_same(own, url)
    after = dict(rows(url, "select tableoid::regclass::text, count(*) from core.orders group by 1"))
    assert after == before | {"core.orders_2021_03": 1}
    assert rows(url, "select to_regclass('own.total')") == [(None,)]
    for name in ("mart.orders", "own.weekly"):
        assert rows(url, f"select has_table_privilege('reader', '{name}', 'select')") == [(True,)]


@pytest.mark.long
@pytest.mark.parametrize("at", [1, 40, 150, 400])
def test_killed_copy_leaves_the_old_release(own: World, url: str, at: int) -> None:
    """Whatever was written when its connection ended: readers have the old release, and the next copy has all."""
    own.publish()
    copy_release(own.settings, url)
    before = rows(url, "select release_id from ordermart.release")
    orders = rows(url, "select count(*) from mart.orders")
    own.land("orders", [person(12, BOB, status="later"), person(4, ANN)])
    own.publish()
    progress = iter(range(1, 10_000))

    def kill(_what: str, done: int, total: int) -> None:
        if next(progress) == max(1, at * total // 500):
            with psycopg.connect(url, autocommit=True) as con:
                others = "application_name = 'ordermart copy'"
                con.execute(f"select pg_terminate_backend(pid) from pg_stat_activity where {others}")

    with pytest.raises(CopyError, match="has the release that it had"):
        copy_release(own.settings, url, kill)
    assert rows(url, "select release_id from ordermart.release") == before
    assert rows(url, "select count(*) from mart.orders") == orders
    copy_release(own.settings, url)
    assert_same(own, url)


@pytest.mark.parametrize("whose", ["copy", pytest.param("server", marks=pytest.mark.long)])
def test_kill_amid_the_rows_of_a_table_leaves_the_old_release(own: World, url: str, whose: str) -> None:
    """`kill -9` of the command, or of the server's process, while COPY has written some rows of a table."""
    own.publish()
    copy_release(own.settings, url)
    before = rows(url, "select release_id from ordermart.release")
    write(own, "many", "-- One row per number.\nselect range as n, repeat('x', 200) as t from range(600000)")
    own.publish()
    code = "import sys; sys.argv[0] = 'ordermart'; from pipelines.cli import main; main()"
    command = [sys.executable, "-c", code, "--config", str(own.file), "copy", "--to", url]
    with subprocess.Popen(command, env=os.environ | own.environ, stderr=subprocess.PIPE) as process:
        copying = "select pid from pg_stat_progress_copy where tuples_processed > 1000"
        with psycopg.connect(url, autocommit=True) as con:
            while not (found := con.execute(copying).fetchall()):
                assert process.poll() is None, process.communicate()
        os.kill(process.pid if whose == "copy" else found[0][0], signal.SIGKILL)
        said = process.communicate(timeout=60)[1].decode()
    if whose == "server":
        assert (process.returncode, "PostgreSQL has the release that it had" in said) == (1, True), said
    wait_for(url)
    assert rows(url, "select release_id from ordermart.release") == before
    assert rows(url, "select to_regclass('own.many')") == [(None,)]
    copy_release(own.settings, url)
    assert rows(url, "select count(*) from own.many") == [(600_000,)]


def wait_for(url: str) -> None:
    """Wait until a server that lost a process takes connections again."""
    for _ in range(600):
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(url):
            return
        time.sleep(0.1)
    pytest.fail("the server does not come back")


def test_password_is_of_the_environment_or_of_a_file(
    first: World, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A role that needs one is refused without and with another; PGPASSWORD is taken, and the file of PGPASSFILE."""
    with psycopg.connect(url, autocommit=True) as con:
        con.execute("create role keeper login superuser password 'kept'")
    keepers = re.sub(r"user=\w+", "user=keeper", url)
    try:
        for password in ("", "other"):
            monkeypatch.setenv("PGPASSWORD", password)
            with pytest.raises(CopyError, match="has the release that it had"):
                copy_release(first.settings, keepers)
        monkeypatch.setenv("PGPASSWORD", "kept")
        assert copy_release(first.settings, keepers).rows > 0
        monkeypatch.delenv("PGPASSWORD")
        file = tmp_path / "pgpass"
        file.write_text("*:*:*:keeper:kept\n", encoding="utf-8")
        file.chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(file))
        assert copy_release(first.settings, keepers).rows == 0
    finally:
        with psycopg.connect(url, autocommit=True) as con:
            con.execute("reassign owned by keeper to current_user")
            con.execute("drop owned by keeper")
            con.execute("drop role keeper")


def test_password_is_no_argument_and_a_foreign_table_stays(first: World, url: str) -> None:
    """A URL with a password is refused; so is a database that has a table of one of our names."""
    with pytest.raises(SettingsError, match="PGPASSWORD"):
        copy_release(first.settings, "postgresql://a:secret@127.0.0.1/x")
    with pytest.raises(CopyError, match="has the release that it had"):
        copy_release(first.settings, "postgresql://127.0.0.1:1/x")
    with psycopg.connect(url, autocommit=True) as con:
        con.execute("create schema mart")
        con.execute("create table mart.orders (mine int)")
    with pytest.raises(CopyError, match=r"has a table mart.orders that is not a copy"):
        copy_release(first.settings, url)
    assert rows(url, "select count(*) from mart.orders") == [(0,)]


def test_file_that_is_gone_is_named(own: World, url: str) -> None:
    """Nothing waits for rows that do not come; PostgreSQL stays empty, and a file of its own is not left behind."""
    own.publish()
    next((own.data / "published" / "current" / "parquet" / "mart" / "orders").rglob("*.parquet")).unlink()
    with pytest.raises(CopyError, match="cannot be read"):
        copy_release(own.settings, url)
    assert rows(url, "select to_regclass('core.orders')") == [(None,)]
    assert list((own.data / "warehouse" / "spill").glob("copy-*")) == []
    assert len(copies_holding(own.data, dt.datetime.now(dt.UTC))) == 1  # a kill after the commit would look the same


def test_hostile_texts_arrive_as_they_are(own: World, url: str) -> None:
    """Quotes, backslashes, line breaks, the mark of null and lists of such texts; bytes, and types that become text."""
    texts = ["\\N", "", 'a"b', "a,b", "a\nb", "a\\b", "{x}", "null", "NULL", " "]
    listed = ", ".join("'" + each.replace("'", "''") + "'" for each in texts)
    said = f"unnest([{listed}]) as t, [{listed}, null] as l, [1, null, 3] as n, null::varchar as z"
    odd = "'\\x00\\xAA'::blob as b, 4000000000::uinteger as u, [['a'], [null]] as nested, {'x': 1} as s"
    sql = f"-- One row per text.\nselect {said}, {odd}"
    write(own, "texts", sql)
    own.publish()
    copy_release(own.settings, url)
    assert {row[0] for row in rows(url, "select t from own.texts")} == set(texts)
    assert rows(url, "select distinct l, n, z from own.texts") == [([*texts, None], [1, None, 3], None)]
    assert rows(url, "select distinct b, u, nested, s from own.texts") == [
        (b"\0\xaa", 4_000_000_000, "[[a], [NULL]]", "{'x': 1}")
    ]


def test_erasure_reaches_stale_own_rows_and_postgresql(own: World, url: str, tmp_path: Path) -> None:
    """A broken model's last rows that lead to her go with the erasure; PostgreSQL is named until the next copy."""
    write(own, "people", "-- One row per order.\nselect order_id, customer_key from mart.orders")
    write(own, "sums", "-- One row.\nselect sum(total_price) as s from mart.orders")
    own.publish()
    copy_release(own.settings, url)
    key = own.rows("select customer_key from own.people where order_id = 1")[0][0]
    write(own, "people", "-- One row per order.\nselect nothing from mart.orders")
    write(own, "sums", "-- One row.\nselect nothing from mart.orders")
    own.publish()
    assert len(own.rows("from own.people")) == 3
    done = erase(own.settings, PersonRequest("phone", ANN))
    assert any("own.people" in note for note in done.notes)
    assert len(copies_holding(own.data, done.entry.moment if done.entry else None)) == 1
    assert own.rows("from meta.models where model_name = 'own.people' and made_at is null") != []
    assert len(own.rows("from own.sums")) == 1
    assert Marks(key).hits(own.data) == []
    assert rows(url, f"select count(*) from own.people where customer_key = '{key}'") == [(2,)]
    copy_release(own.settings, url)
    assert copies_holding(own.data, done.entry.moment if done.entry else None) == []
    dump = tmp_path / "dump.sql"
    with psycopg.connect(url) as con, dump.open("wb") as file:
        for (name,) in con.execute("select table_name from ordermart.tables").fetchall():
            with con.cursor().copy(f"copy (select * from {name}) to stdout") as copy:
                file.writelines(copy)
    assert not Marks(key).in_bytes(dump.read_bytes())
    (own.data / "copies.json").write_text("{")
    assert ["cannot be read" in place for place in copies_holding(own.data, dt.datetime.now(dt.UTC))] == [True]
    assert rows(url, "select to_regclass('own.people')") == [(None,)]
