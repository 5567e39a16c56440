"""Find a person's data, show the data held of them, and erase it: keys, lookup hashes, bodies and every version.

A person is asked for by a contact: theirs are the orders of which a version states it, decrypted and read, and the
quarantined bodies that name it. An erased document is never encrypted again, also when the service sends it again.

A contact that proves to be many people's identifies nobody, also backwards: what it linked is separated again. All
orders are filed again, under the customers that the rule of today gives them, when the rule changes, the countries of
stores are known better, or the keys were rotated. Raw files, which have the keys of customers, follow by `moved`.
"""

import datetime as dt
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pipelines.vault.contacts import Sought, is_mentioned, normal_email, normal_phone
from pipelines.vault.database import ROW, RULE, contact, person_of, select_in_parts, transaction, values

if TYPE_CHECKING:
    from pipelines.vault.bodies import QuarantinedBodies
    from pipelines.vault.database import Lookup, VaultConnection
    from pipelines.vault.tally import VaultTally


_VERSION = 4  # of the contacts that contacts.py reads in a text, and of whose an order without one is
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

    _db: "VaultConnection"
    _lookup: "Lookup"
    _rule: Rule
    _content_of: Callable[..., bytes]  # of a row of ROW
    _again: Callable[..., bytes]  # a row's content, encrypted for its customer
    _new_customer: Callable[[], int]
    _destroy_idle: Callable[[], int]
    _tally: "VaultTally"

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
                if not is_same:
                    self._tally.renew("lookups", "shared")  # whatever they were
            if filed != today:
                query = "insert or replace into meta values (?, ?)"
                self._db.execute(query, (RULE, msgspec.json.encode(today)))
            return self._db.execute("select 1 from moved limit 1").fetchone() is not None

    def moved(self) -> dict[int, list[tuple[tuple[str, int], str]]]:
        """Return the orders whose customer changed: the load and place of each version, and its customer's key."""
        select = "select id, load_id, seq, customer_key from personal_data join customers on n = customer"
        rows = self._db.execute(f"{select} where kind = 'orders' and id in (select id from moved) order by id, no")
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
            "create temp table filing (id integer, no integer, customer integer, phone blob, email blob, name blob, "
            "own blob, target integer, primary key (id, no)) without rowid"
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
                and (x'' in (f.name, filing.name) or f.name = filing.name)
                order by f.no desc limit 1
            ), cast('order/' || id as blob)) where own is null
        """)
        self._give_customers()
        self._move()
        db.execute("delete from lookups where customer in (select customer from filing)")
        for name in ("phone", "email"):
            query = f"insert into lookups select distinct {name}, target, {name} = own from filing"
            db.execute(f"{query} where {name} <> x'' on conflict do update set owns = max(owns, excluded.owns)")
        self._destroy_idle()
        db.execute("drop table filing")

    def _read(self, only: str) -> None:
        """Read the contacts of versions into the table of filed contacts."""
        for row in self._rows(only):
            _, id_, no, n, *_ = row
            content = self._content_of(*row)
            phone, email = contact(content)
            hashes = (self._lookup.phone(phone, self._rule.of_order(id_)), self._lookup.email(email))
            name = person_of(content)
            told = self._lookup.hash(f"name:{name}".encode(errors="surrogatepass")) if name else b""
            self._db.execute("insert into filing values (?, ?, ?, ?, ?, ?, null, null)", (id_, no, n, *hashes, told))

    def _rows(self, only: str) -> Iterator[tuple[Any, ...]]:
        last = (-(2**63), 0)
        query = f"select {ROW} from personal_data where kind = 'orders' and (id, no) > (?, ?)"
        query += f" and customer in (select n from customers where wrapped is not null) {only} order by id, no limit ?"
        while rows := self._db.execute(query, (*last, _ROWS_AT_ONCE)).fetchall():
            yield from rows
            last = rows[-1][1:3]

    def _give_customers(self) -> None:
        """Give each version its customer: whom its contact tells already, else the one it has, else a new one."""
        select = "select own, customer, min(id), (select l.customer from lookups as l where l.hash = own and l.owns)"
        groups = self._db.execute(f"{select} from filing group by own, customer order by customer, min(id)").fetchall()
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
        rows = self._db.execute("select id, no, target from filing where customer <> target").fetchall()
        for id_, no, target in rows:
            where = "where kind = 'orders' and id = ? and no = ?"
            row = self._db.execute(f"select {ROW} from personal_data {where}", (id_, no)).fetchone()
            again = self._again(*row[:3], target, *row[4:6], self._content_of(*row))
            self._db.execute(f"update personal_data set customer = ?, body = ? {where}", (target, again, id_, no))
            self._db.execute("insert or ignore into moved values (?)", (id_,))


class Version(NamedTuple):
    """A stored version of an order, decrypted; its contacts as contacts.py reads them."""

    id: int
    no: int
    customer: int
    load_id: str
    fields: dict[str, Any]
    phone: str
    email: str
    name: str


class Person(NamedTuple):
    """All data held of a person: versions of their orders, and references to quarantined bodies that name them."""

    versions: tuple[Version, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def order_ids(self) -> list[int]:
        """The orders."""
        return sorted({each.id for each in self.versions})

    @property
    def contacts(self) -> tuple[set[str], set[str], set[str]]:
        """The different phone numbers, e-mail addresses and names in the latest versions."""
        latest = {each.id: each for each in self.versions}.values()
        own = [(each.phone, each.email, each.name) for each in latest]
        phones, emails, names = ({each[at] for each in own} - {""} for at in range(3))
        return phones, emails, names


class Destroyed(NamedTuple):
    """How much was destroyed, and how many quarantined bodies could not be read, so that none knows whose they are."""

    customers: int
    versions: int
    quarantined: int
    unread: int = 0


@dataclass
class Erasing:
    """The rights of the people whose data a vault holds."""

    _db: "VaultConnection"
    _lookup: "Lookup"
    _content_of: Callable[..., bytes]  # of a row of ROW
    _refused: "QuarantinedBodies"
    _folder: Path
    rule: Rule
    _tally: "VaultTally"

    def of_order(self, order_id: int) -> Person:
        """Return all data held of an order."""
        refused, _ = self._naming(Sought({order_id}, set(), set()))
        return Person(tuple(self._versions({order_id})), refused)

    def of_contact(self, found_by: str, value: str) -> Person:
        """Return all data held of a phone number or an e-mail address: nothing of one that is nobody's or many's.

        Each order is read where lookup hashes are damaged, or none finds it: nobody is told that nothing is held.
        """
        if self.is_shared(found_by, value):
            return Person()
        stated, is_phone = self.stated(found_by, value), found_by == "phone"
        query = "select customer from lookups where hash in ($values)"
        customers = {n for (n,) in select_in_parts(self._db, query, {self._hash(found_by, each) for each in stated})}
        if not customers or self._tally.broken("lookups"):
            customers = {n for (n,) in self._db.execute("select n from customers")}
        versions = self._versions(customers, "customer")
        ids = {each.id for each in versions if (each.phone if is_phone else each.email) in stated}
        sought = Sought(set(), stated if is_phone else set(), set() if is_phone else stated)
        return Person(tuple(self._versions(ids)), self._naming(sought)[0])

    def stated(self, found_by: str, value: str) -> set[str]:
        """Return the forms in which orders may state a contact, "" left out."""
        if found_by == "email":
            return {normal_email(value)} - {""}
        return {normal_phone(value, each) for each in self.rule.all_countries} - {""}

    def is_shared(self, found_by: str, value: str) -> bool:
        """Tell whether a contact is masked, no contact, or stated by too many people to tell one."""
        stated = self.stated(found_by, value)
        return not stated or any(self._is_in("shared", found_by, each) for each in stated)

    def request_hash(self, found_by: str, value: str) -> bytes:
        """Return a keyed hash of a request: it recognises the same one, and tells nothing without the secret."""
        normal = {"phone": normal_phone, "email": normal_email}.get(found_by, str)(value)
        return self._lookup.hash(f"request:{found_by}:{normal}".encode())

    def shown(self, person: Person, stated: set[str]) -> Person:
        """Return the same without versions that are another's: no contact, or else name, is the person's."""
        found = []
        for order_id in person.order_ids:
            own = [(each, {each.phone, each.email} - {""}) for each in person.versions if each.id == order_id]
            mine = stated.union(*(contacts for _, contacts in own if contacts & stated))
            mine = {c for c in mine if c in stated or not self._is_in("shared", "email" if "@" in c else "phone", c)}
            names = {"", *(each.name for each, contacts in own if contacts & mine)}
            found += [each for each, contacts in own if contacts & mine or not (contacts or each.name not in names)]
        return person._replace(versions=tuple(found))

    def bodies(self, refs: Iterable[str]) -> list[dict[str, Any]]:
        """Return quarantined bodies as they may be shown."""
        found = [each for ref in refs if (each := self._refused.open(ref))]
        return [{"kind": each.kind, "id": each.asked, "body": each.body.decode(errors="replace")} for each in found]

    def key_hashes(self, numbers: Iterable[int]) -> list[str]:
        """Return the hashes of the keys of customers, by which the ledger names them."""
        query = "select customer_key from customers where wrapped is not null and n in ($values)"
        return sorted(key_sha256(key) for (key,) in select_in_parts(self._db, query, set(numbers)))

    def _hash(self, found_by: str, stated: str) -> bytes:
        return self._lookup.hash(f"{found_by}:{stated}".encode(errors="surrogatepass"))

    def _versions(self, chosen: set[int], by: str = "id") -> Iterator[Version]:
        query = (
            f"select {ROW} from personal_data where kind = 'orders' "
            f"and customer in (select n from customers where wrapped is not null) and {by} in ($values) order by id, no"
        )
        for row in select_in_parts(self._db, query, chosen):
            _, id_, no, n, load_id, *_ = row
            content = self._content_of(*row)
            phone, email = contact(content)
            normal = normal_phone(phone, self.rule.of_order(id_)), normal_email(email)
            yield Version(id_, no, n, load_id, values(content), *normal, person_of(content))

    def orders(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the latest content of each order, pointer → value, with the number of its customer."""
        query = (
            f"select {ROW} from personal_data as p where kind = 'orders' and no = "
            "(select max(no) from personal_data as o where o.kind = 'orders' and o.id = p.id) order by id"
        )
        yield from ((row[3], values(self._content_of(*row))) for row in self._db.execute(query))

    def erase(self, key_hashes: Iterable[str], order_ids: Iterable[int], refs: Iterable[str] = ()) -> Destroyed:
        """Destroy all versions of these orders, and never encrypt them again; customers of whom nothing is left, too.

        Also everything of the customers with these hashes of their keys, these quarantined bodies, and those that are
        of such an order or name a contact that no other order states. Doing it again changes nothing. Responses of a
        killed run are removed with it: they are requested again.
        """
        wanted, ids = set(key_hashes), set(order_ids)
        with transaction(self._db):
            rows = self._db.execute("select n, customer_key from customers where wrapped is not null").fetchall()
            customers = {n for n, key in rows if key_sha256(key) in wanted} if wanted else set()
            gone = [*self._versions(customers, "customer"), *self._versions(ids)]
            of_orders = "kind = 'orders' and id in (select id from erased where kind = 'orders')"
            self._db.executemany("insert or ignore into erased values ('orders', ?)", [(each,) for each in ids])
            count = self._db.execute(f"delete from personal_data where {of_orders}").rowcount
            self._db.execute("delete from moved where id in (select id from erased where kind = 'orders')")
            others = {each.customer for each in gone} - customers
            kept = self._prune(others)
            count += self._destroy([*customers, *(others - kept)])
            phones, emails = {each.phone for each in gone} - {""}, {each.email for each in gone} - {""}
            naming, unread = self._naming(Sought(ids, self._unstated("phone", phones), self._unstated("email", emails)))
            doomed = {*naming, *(ref for ref in refs if self._refused.readable(ref))}
            self._db.executemany("delete from refused where ref = ?", [(ref,) for ref in doomed])
        for spool in self._folder.glob("spool-*"):
            spool.unlink()
        self._db.execute("pragma wal_checkpoint(truncate)")
        return Destroyed(len(customers | (others - kept)), count, len(doomed), unread)

    def _unstated(self, found_by: str, contacts: set[str]) -> set[str]:
        """Return the contacts that no order states any more."""
        return {c for c in contacts if not any(self._is_in(table, found_by, c) for table in ("lookups", "shared"))}

    def _prune(self, customers: set[int]) -> set[int]:
        """Remove lookup hashes that nothing of these customers states any more; return those that have something."""
        stated = {
            (self._hash(kind, text), each.customer)
            for each in self._versions(customers, "customer")
            for kind, text in (("phone", each.phone), ("email", each.email))
        }
        query = "select hash, customer from lookups where customer in ($values)"
        held = set(select_in_parts(self._db, query, customers))
        self._db.executemany("delete from lookups where hash = ? and customer = ?", held - stated)
        self._forget({h for h, _ in held - stated})
        return {n for _, n in stated}

    def _forget(self, hashes: set[bytes]) -> None:
        """Forget the notes on hashes that no customer's order states any more."""
        left = {h for (h,) in select_in_parts(self._db, "select hash from lookups where hash in ($values)", hashes)}
        for column in ("pairs where phone", "pairs where email", "shared where hash"):
            self._db.executemany(f"delete from {column} = ?", [(h,) for h in hashes - left])

    def _is_in(self, table: str, found_by: str, text: str) -> bool:
        query = f"select 1 from {table} where hash = ? limit 1"
        return self._db.execute(query, (self._hash(found_by, text),)).fetchone() is not None

    def expire(self, ids: Iterable[int], limit: dt.datetime) -> int:
        """Destroy the personal data of these orders, and of those that landed before `limit`; return how many orders.

        They are never encrypted again. Customers of whom nothing is left lose their key and lookup hashes.
        """
        landed = f"{limit.astimezone(dt.UTC):%Y%m%dT%H%M%S%f}"
        with transaction(self._db):
            self._db.execute("create temp table if not exists expired (id integer primary key)")
            self._db.execute("delete from expired")
            self._db.executemany("insert or ignore into expired values (?)", ((each,) for each in ids))
            query = "insert or ignore into expired select id from personal_data"
            self._db.execute(f"{query} where kind = 'orders' group by id having max(load_id) < ?", (landed,))
            query = "insert or ignore into erased select distinct 'orders', id from personal_data"
            orders = self._db.execute(f"{query} where kind = 'orders' and id in (select id from expired)").rowcount
            self._db.execute("delete from personal_data where kind = 'orders' and id in (select id from expired)")
            if orders:
                self.destroy_idle()
        if orders:
            self._db.execute("pragma wal_checkpoint(truncate)")
        return orders

    def destroy_idle(self) -> int:
        """Destroy the customers of whom nothing is left."""
        query = "select n from customers where wrapped is not null and n not in (select customer from personal_data)"
        return self._destroy([n for (n,) in self._db.execute(query).fetchall()])

    def _destroy(self, customers: Iterable[int]) -> int:
        """Destroy keys, lookup hashes and versions of these customers, each table looked through once."""
        self._db.execute("create temp table if not exists doomed (n integer primary key)")
        self._db.execute("delete from doomed")
        self._db.executemany("insert into doomed values (?)", [(n,) for n in customers])
        versions = self._db.execute("delete from personal_data where customer in (select n from doomed)").rowcount
        query = "delete from lookups where customer in (select n from doomed) returning hash"
        self._forget({h for (h,) in self._db.execute(query).fetchall()})
        # the row stays: another customer never gets its number
        self._db.execute("update customers set wrapped = null, customer_key = '' where n in (select n from doomed)")
        return versions

    def _naming(self, sought: Sought) -> tuple[tuple[str, ...], int]:
        """Return the quarantined bodies that lead to a person, and how many of the others could not be read."""
        found, unread = [], 0
        for ref, kind, asked in self._db.execute("select ref, kind, asked from refused").fetchall():
            of_orders = kind in {"orders", "webhooks"}
            if (body := self._refused.readable(ref)) == b"":
                continue
            of_kind = sought if of_orders else sought._replace(ids=set())
            named = None if body is None else is_mentioned(body, of_kind, self.rule.all_countries)
            if body is not None and kind == "orders" and asked in sought.ids:
                named = True
            found += [ref] if named else []
            unread += named is None
        return tuple(found), unread


def key_sha256(customer_key: str) -> str:
    """Return the hash by which the ledger names an erased customer: the key is random, so nothing is found from it."""
    return hashlib.sha256(customer_key.encode()).hexdigest()
