"""File orders again under the customers that the rule of today gives them, and find their lookup hashes again.

A contact that proves to be many people's tells nobody, also backwards: what was filed by it comes apart. All orders are
filed again when the rule changes, the countries of stores are known better, or the keys were rotated. Raw files, which
have the keys of customers, follow by `moved`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from pipelines.vault.database import RULE, contact, transaction

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping

    from pipelines.vault.database import Lookup


_VERSION = 1  # of the contacts that contacts.py reads in a text
_ROWS_AT_ONCE = 1_000


_Noted = tuple[int, int, str, dict[int, str]]


@dataclass(frozen=True)
class Rule:
    """How many people may state one contact, and where numbers without a country code are called from."""

    most_people: int = 3
    country: str = ""
    countries: Mapping[int, str] = field(default_factory=dict)  # of stores
    store_of: Callable[[int], int | None] = lambda _: None  # of orders; asked if stores are in several countries

    @cached_property
    def all_countries(self) -> list[str]:
        """The countries that a number may be called from; [""] if none is known."""
        return sorted({self.country, *self.countries.values()} - {""}) or [""]

    def of_store(self, store: int | None) -> str:
        """Return the country of a store; the only one that is known."""
        only = self.all_countries
        return only[0] if len(only) == 1 else self.countries.get(store or 0) or self.country

    def of_order(self, order_id: int) -> str:
        """Return the country of an order's store."""
        return self.of_store(self.store_of(order_id) if len(self.all_countries) > 1 else None)

    @property
    def noted(self) -> _Noted:
        """The vault's notes of the rule by which all orders are filed."""
        return _VERSION, self.most_people, self.country, dict(self.countries)


@dataclass
class Filing:
    """The customers of a vault's orders."""

    _db: sqlite3.Connection
    _lookup: Lookup
    _rule: Rule
    _content_of: Callable[[str, int, int, bytes], bytes]
    _again: Callable[[int, int, bytes], bytes]  # an order's content, encrypted for customer n
    _new_customer: Callable[[], int]
    _destroy_idle: Callable[[], int]

    def file_again(self) -> bool:
        """File orders again that the rule gives to others; tell whether any order in raw files has another customer."""
        with transaction(self._db):
            found = self._db.execute("select value from meta where name = ?", (RULE,)).fetchone()
            filed, today = msgspec.json.decode(found[0], type=_Noted) if found else (0, 0, "", {}), self._rule.noted
            (*_, before), (*_, now) = filed, today
            # another store of these countries is no change
            is_same = filed[:3] == today[:3] and before.items() <= now.items() and {*before.values()} == {*now.values()}
            if not is_same or self._db.execute("select 1 from shared where not is_settled limit 1").fetchone():
                if found and filed[1] != today[1]:
                    self._db.execute("delete from shared")
                self._file(is_all=not is_same)
            if filed != today:
                query = "insert or replace into meta values (?, ?)"
                self._db.execute(query, (RULE, msgspec.json.encode(today)))
            return self._db.execute("select 1 from moved limit 1").fetchone() is not None

    def moved(self) -> dict[int, list[tuple[tuple[str, int], str]]]:
        """Return the orders whose customer changed: the load and place of each version, and its customer's key."""
        rows = self._db.execute(
            "select id, load_id, seq, customer_key from personal_data join customers on n = customer "
            "where kind = 'orders' and id in (select id from moved) order by id, no"
        )
        found: dict[int, list[tuple[tuple[str, int], str]]] = {}
        for id_, load_id, seq, key in rows:
            found.setdefault(id_, []).append(((load_id, seq), key))
        return found

    def settle(self) -> None:
        """Note that the raw files have the customers of today."""
        self._db.execute("delete from moved")

    def _file(self, *, is_all: bool) -> None:
        db = self._db
        db.execute("drop table if exists temp.filing")
        db.execute(
            "create temp table filing (id integer, no integer, customer integer, phone blob, email blob, own blob, "
            "target integer, primary key (id, no)) without rowid"
        )
        of_shared = "select customer from lookups where hash in (select hash from shared where not is_settled)"
        self._read("" if is_all else f"and customer in ({of_shared})")
        stated = "select distinct phone, email from filing where phone <> x'' and email <> x''"
        if is_all:
            db.execute("delete from pairs")
            db.execute("delete from lookups")
            db.execute(f"insert into pairs {stated}")
            for name in ("phone", "email"):
                many = f"select {name} from pairs group by 1 having count(*) > ?"
                db.execute(f"insert or ignore into shared select {name}, 1 from ({many})", (self._rule.most_people,))
        db.execute("update lookups set owns = 0 where hash in (select hash from shared)")
        db.execute("update shared set is_settled = 1")
        is_own = "case when {0} <> x'' and {0} not in (select hash from shared) then {0} end"
        db.execute(f"update filing set own = coalesce({is_own.format('phone')}, {is_own.format('email')})")
        db.execute("""
            update filing set own = coalesce((
                select own from filing as f where f.id = filing.id and f.no < filing.no and f.own is not null
                order by f.no desc limit 1
            ), cast('order/' || id as blob)) where own is null
        """)
        self._give_customers()
        self._move()
        db.execute("delete from lookups where customer in (select customer from filing)")
        for name in ("phone", "email"):
            db.execute(
                f"insert into lookups select distinct {name}, target, {name} = own from filing where {name} <> x'' "
                "on conflict do update set owns = max(owns, excluded.owns)"
            )
        self._destroy_idle()
        db.execute("drop table filing")

    def _read(self, only: str) -> None:
        """Read the contacts of versions into the table of filed contacts."""
        for id_, no, n, body in self._rows(only):
            phone, email = contact(self._content_of("orders", id_, n, body))
            hashes = (self._lookup.phone(phone, self._rule.of_order(id_)), self._lookup.email(email))
            self._db.execute("insert into filing values (?, ?, ?, ?, ?, null, null)", (id_, no, n, *hashes))

    def _rows(self, only: str) -> Iterator[tuple[int, int, int, bytes]]:
        last = (-(2**63), 0)
        query = (
            "select id, no, customer, body from personal_data where kind = 'orders' and (id, no) > (?, ?) "
            f"and customer in (select n from customers where wrapped is not null) {only} order by id, no limit ?"
        )
        while rows := self._db.execute(query, (*last, _ROWS_AT_ONCE)).fetchall():
            yield from rows
            last = rows[-1][:2]

    def _give_customers(self) -> None:
        """Give each version its customer: whom its contact tells already, else the one it has, else a new one."""
        groups = self._db.execute(
            "select own, customer, min(id), (select l.customer from lookups as l where l.hash = own and l.owns) "
            "from filing group by own, customer order by customer, min(id)"
        ).fetchall()
        query = "select customer from lookups where owns and customer in (select customer from filing)"
        told = self._db.execute(query).fetchall()
        taken = {n for (n,) in told}
        targets = {own: owner for own, _, _, owner in groups if owner}
        for own, n, _, _ in groups:
            if own not in targets:
                targets[own] = self._new_customer() if n in taken else n
                taken.add(targets[own])
        self._db.execute("create index temp.filing_own on filing (own)")
        self._db.executemany("update filing set target = ? where own = ?", ((n, own) for own, n in targets.items()))

    def _move(self) -> None:
        rows = self._db.execute("select id, no, customer, target from filing where customer <> target").fetchall()
        for id_, no, n, target in rows:
            where = "where kind = 'orders' and id = ? and no = ?"
            (body,) = self._db.execute(f"select body from personal_data {where}", (id_, no)).fetchone()
            again = self._again(id_, target, self._content_of("orders", id_, n, body))
            self._db.execute(f"update personal_data set customer = ?, body = ? {where}", (target, again, id_, no))
            self._db.execute("insert or ignore into moved values (?)", (id_,))
