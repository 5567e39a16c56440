"""Find a person's data, show the data held of them, and erase it: keys, lookup hashes, bodies and every version.

An erased document is never encrypted again, also when the service sends it again.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from pipelines.vault.database import contact, normal_email, normal_phone, transaction, values

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from pipelines.vault.bodies import RefusedBodies
    from pipelines.vault.database import Lookup

_LEAST_DIGITS = 6  # of a phone number that is searched for in quarantined bodies
_MOST_DIGITS, _MOST_SIGNS = 32, 320  # of a searched text: the search takes as many steps for each byte
_BETWEEN = rb"[\s()./+-]*+"


class Customer(NamedTuple):
    """A customer who was not erased; `order_ids` are the orders whose latest personal data are theirs."""

    n: int
    key_sha256: str
    order_ids: tuple[int, ...]


class Destroyed(NamedTuple):
    """How much was destroyed."""

    customers: int
    versions: int
    quarantined: int


@dataclass
class Erasing:
    """The rights of the people whose data a vault holds."""

    _db: sqlite3.Connection
    _lookup: Lookup
    _content_of: Callable[[str, int, int, bytes], bytes]
    _refused: RefusedBodies
    _folder: Path

    def of_order(self, order_id: int) -> list[Customer]:
        """Return the customers that any version of an order was encrypted for."""
        return self._customers("select customer from personal_data where kind = 'orders' and id = ?", order_id)

    def of_phone(self, text: str) -> list[Customer]:
        """Return the customers of a phone number."""
        return self._customers("select customer from lookups where hash = ?", self._lookup.phone(text))

    def of_email(self, text: str) -> list[Customer]:
        """Return the customers of an e-mail address."""
        return self._customers("select customer from lookups where hash = ?", self._lookup.email(text))

    def is_held_unfound(self, found_by: str, value: str) -> bool:
        """Tell whether any order has this phone number or e-mail address, whatever the lookup hashes say.

        Reads every body; raise VaultError where one cannot be decrypted, so that nobody can say.
        """
        hashed = self._lookup.phone if found_by == "phone" else self._lookup.email
        wanted, place = hashed(value), 0 if found_by == "phone" else 1
        rows = self._db.execute("select id, customer, body from personal_data where kind = 'orders'")
        return bool(wanted) and any(hashed(contact(self._content_of("orders", *row))[place]) == wanted for row in rows)

    def request_hash(self, found_by: str, value: str) -> bytes:
        """Return a keyed hash of a request: it recognises the same one, and tells nothing without the secret."""
        normal = {"phone": normal_phone, "email": normal_email}.get(found_by, str)(value)
        return self._lookup.hash(f"request:{found_by}:{normal}".encode())

    def held(self, customers: Iterable[Customer]) -> list[dict[str, Any]]:
        """Return every stored version of these customers' documents, decrypted, oldest first."""
        found = []
        for n in sorted({each.n for each in customers}):
            query = "select kind, id, no, load_id, body from personal_data where customer = ? order by kind, id, no"
            for kind, id_, no, load_id, body in self._db.execute(query, (n,)).fetchall():
                content = values(self._content_of(kind, id_, n, body))
                found.append({"kind": kind, "id": id_, "version": no, "load_id": load_id, "fields": content})
        return found

    def orders(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the latest content of each order, pointer → value, with the number of its customer."""
        query = (
            "select id, customer, body from personal_data as p where kind = 'orders' and no = "
            "(select max(no) from personal_data as o where o.kind = 'orders' and o.id = p.id) order by id"
        )
        for id_, n, body in self._db.execute(query):
            yield n, values(self._content_of("orders", id_, n, body))

    def erase(self, key_hashes: Iterable[str], order_ids: Iterable[int]) -> Destroyed:
        """Destroy everything of the customers with these hashes of their keys, and never encrypt these orders again.

        Doing it again changes nothing. Responses of a killed run are removed with it: they are requested again.
        """
        wanted, ids = set(key_hashes), set(order_ids)
        with transaction(self._db):
            rows = self._db.execute("select n, customer_key from customers where wrapped is not null").fetchall()
            customers = [n for n, key in rows if key_sha256(key) in wanted]
            doomed = self._quarantined(ids, self._texts(customers))
            self._db.executemany("delete from refused where ref = ?", [(ref,) for ref in doomed])
            versions = self._destroy(customers)
            self._db.executemany("insert or ignore into erased values ('orders', ?)", [(each,) for each in ids])
        for spool in self._folder.glob("spool-*"):
            spool.unlink()
        self._db.execute("pragma wal_checkpoint(truncate)")
        return Destroyed(len(customers), versions, len(doomed))

    def expire(self, ids: Iterable[int], limit: dt.datetime) -> int:
        """Destroy the personal data of these orders, and of those that landed before `limit`; return how many orders.

        They are never encrypted again. Customers of whom nothing is left lose their key and lookup hashes.
        """
        landed = f"{limit.astimezone(dt.UTC):%Y%m%dT%H%M%S%f}"
        with transaction(self._db):
            self._db.execute("create temp table if not exists expired (id integer primary key)")
            self._db.execute("delete from expired")
            self._db.executemany("insert or ignore into expired values (?)", ((each,) for each in ids))
            self._db.execute(
                "insert or ignore into expired select id from personal_data where kind = 'orders' "
                "group by id having max(load_id) < ?",
                (landed,),
            )
            orders = self._db.execute(
                "insert or ignore into erased select distinct 'orders', id from personal_data "
                "where kind = 'orders' and id in (select id from expired)"
            ).rowcount
            self._db.execute("delete from personal_data where kind = 'orders' and id in (select id from expired)")
            if orders:
                idle = self._db.execute(
                    "select n from customers where wrapped is not null "
                    "and n not in (select customer from personal_data)"
                ).fetchall()
                self._destroy([n for (n,) in idle])
        if orders:
            self._db.execute("pragma wal_checkpoint(truncate)")
        return orders

    def _customers(self, query: str, value: Any) -> list[Customer]:
        numbers = {n for (n,) in self._db.execute(query, (value,))}
        found = []
        for n in sorted(numbers):
            row = self._db.execute("select customer_key from customers where n = ? and wrapped is not null", (n,))
            if (key := row.fetchone()) is None:
                continue
            orders = self._db.execute(
                "select id from personal_data as p where kind = 'orders' and customer = ? and no = "
                "(select max(no) from personal_data as o where o.kind = 'orders' and o.id = p.id) order by id",
                (n,),
            )
            found.append(Customer(n, key_sha256(key[0]), tuple(id_ for (id_,) in orders)))
        return found

    def _destroy(self, customers: Iterable[int]) -> int:
        """Destroy keys, lookup hashes and versions of these customers, each table looked through once."""
        self._db.execute("create temp table if not exists doomed (n integer primary key)")
        self._db.execute("delete from doomed")
        self._db.executemany("insert into doomed values (?)", [(n,) for n in customers])
        versions = self._db.execute("delete from personal_data where customer in (select n from doomed)").rowcount
        self._db.execute("delete from lookups where customer in (select n from doomed)")
        # the row stays: another customer never gets its number
        self._db.execute("update customers set wrapped = null, customer_key = '' where n in (select n from doomed)")
        return versions

    def _texts(self, customers: Iterable[int]) -> list[re.Pattern[bytes]]:
        """Return what finds these customers' phone numbers and e-mail addresses, or their beginnings, in a body."""
        phones, emails = set(), set()
        for n in customers:
            query = "select id, body from personal_data where kind = 'orders' and customer = ?"
            for id_, body in self._db.execute(query, (n,)).fetchall():
                phone, email = contact(self._content_of("orders", id_, n, body))
                phones.add("".join(islice((each for each in phone if each.isdecimal()), _MOST_DIGITS)))
                emails.add(email.strip()[:_MOST_SIGNS])
        return [
            *(re.compile(_BETWEEN.join(c.encode() for c in each)) for each in phones if len(each) >= _LEAST_DIGITS),
            *(re.compile(re.escape(each.encode()), re.IGNORECASE) for each in emails if each),
        ]

    def _quarantined(self, ids: set[int], texts: list[re.Pattern[bytes]]) -> list[str]:
        """Return the quarantined bodies that were requested as one of these orders, or hold one of the texts."""
        doomed = []
        for ref, kind, asked in self._db.execute("select ref, kind, asked from refused").fetchall():
            body = b"" if kind == "orders" and asked in ids else self._refused.body(ref) or b""
            if not body or any(text.search(body) for text in texts):
                doomed.append(ref)
        return doomed


def key_sha256(customer_key: str) -> str:
    """Return the hash by which the ledger names an erased customer: the key is random, so nothing is found from it."""
    return hashlib.sha256(customer_key.encode()).hexdigest()
