"""Encrypt and decrypt personal data: one key per customer, wrapped by the master key.

Deleting a customer's wrapped key erases everything encrypted for that customer. A customer is a phone number, or an
e-mail address where no phone is stated; a contact stated with more than so many others identifies nobody: an order
with no contact that tells is its last customer's, or one of its own.
"""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec.structs import replace

from pipelines.settings import Settings
from pipelines.vault import bodies, database
from pipelines.vault.erasing import Erasing, Filing, Rule
from pipelines.vault.tally import VaultTally

_EMPTY = b"{}"
_CIPHERS_KEPT = 20_000
_ROWS_AT_ONCE = 1_000
_ONE = "where kind = ? and id = ? and no = ?"
_NAME_BYTES = 16
_RULE = Rule()


class PersonalData(msgspec.Struct, gc=False):
    """The personal data of one document: `content` is a JSON object, pointer → value."""

    id: int
    seq: int
    phone: str | None
    email: str | None
    content: bytes
    country: str = ""  # that its phone number is called from


class Encrypted(msgspec.Struct, frozen=True, gc=False):
    """The customer it was encrypted for, the fields that changed, `is_erased`: nothing was encrypted, on request."""

    customer_key: str | None
    changed: list[str]
    is_erased: bool = False


_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NOTHING = Encrypted(None, [])
_ERASED = Encrypted(None, [], is_erased=True)
_Previous = tuple[int, int, bytes]  # no, customer, digest


class _Batch(NamedTuple):
    """What is known of a batch that is being encrypted, and the rows that it adds, by table."""

    kind: str
    load_id: str
    previous: dict[int, _Previous]
    shared: set[bytes]
    known: dict[bytes, int]
    last: int  # customer there was before
    customers: list[tuple[int, str, bytes]]
    moved: list[tuple[int]]
    lookups: dict[tuple[bytes, int], bool]
    rows: list[tuple[str, int, int, int, bytes, str, int, bytes]]


def open_vault(settings: Settings, rule: Rule | None = None) -> "Vault":
    """Open the vault, created if necessary; raise VaultError for missing or wrong keys. To find people needs `rule`."""
    path, days = settings.data_dir / "vault" / "vault.sqlite", settings.vault.quarantine_retention_days
    return Vault(path, bodies.read_keys(settings), days, rule or Rule(settings.privacy.max_people_per_contact))


def _changed(old: bytes, new: bytes) -> list[str]:
    """Return the names of fields that differ."""
    both = [{pointer: bytes(value) for pointer, value in _MEMBERS.decode(each).items()} for each in (old, new)]
    return sorted({database.pattern(p) for p in both[0].keys() | both[1].keys() if both[0].get(p) != both[1].get(p)})


class Vault(AbstractContextManager["Vault"]):
    """A connection to the vault. Use it as a context manager; one load writes at a time."""

    def __init__(self, path: Path, keys: bodies.Keys, quarantine_retention_days: int = 30, rule: Rule = _RULE) -> None:
        self._most_people = rule.most_people
        self._master = AESGCM(keys.master)
        self._lookup = database.Lookup(keys.lookup)
        self._ciphers: dict[int, tuple[str, AESGCM]] = {}
        self._db = database.opened(path)
        try:
            self.tally = VaultTally(self._db, self._master)
            self._check_keys()
            self._is_tallied = bodies.TALLIED in bodies.stated(self._db, self._master)
        except BaseException:
            self._db.close()
            raise
        self.refused = bodies.QuarantinedBodies(self._db, self._master, quarantine_retention_days)
        self.erasing = Erasing(self._db, self._lookup, self.content_of, self.refused, path.parent, rule, self.tally)
        again = (self.content_of, self._again, self._one_more, self.erasing.destroy_idle)
        self.filing = Filing(self._db, self._lookup, rule, *again, self.tally)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the vault's file; nothing is left in a write-ahead log."""
        self._db.close()

    # -- a load's life -------------------------------------------------------------------------------------

    def begin(self, load_id: str, kind: str) -> None:
        """Note that a load writes here; unless `finish` follows, `undo` removes what it wrote."""
        self._db.execute("insert into open_loads values (?, ?)", (load_id, kind))

    def finish(self, load_id: str) -> None:
        """Note that a load's raw files are in place."""
        self._db.execute("delete from open_loads where load_id = ?", (load_id,))

    def undo(self, load_id: str) -> None:
        """Remove what a load encrypted; its customers stay, since later loads may refer to them."""
        with database.transaction(self._db):
            self._db.execute("delete from personal_data where load_id = ?", (load_id,))
            self._db.execute("delete from refused where load_id = ?", (load_id,))
            self._db.execute("delete from open_loads where load_id = ?", (load_id,))

    def open_loads(self, kind: str) -> list[str]:
        """Return the loads of a kind that began here and neither finished nor were undone."""
        rows = self._db.execute("select load_id from open_loads where kind = ? order by 1", (kind,))
        return [load_id for (load_id,) in rows]

    def sync(self) -> None:
        """Make everything written so far durable."""
        self._db.execute("pragma synchronous = full")
        with database.transaction(self._db):
            self._db.execute("insert or replace into meta values ('synced', ?)", (os.urandom(8),))
        self._db.execute("pragma synchronous = normal")

    # -- encryption ----------------------------------------------------------------------------------------

    def encrypt(self, kind: str, load_id: str, batch: Sequence[PersonalData]) -> list[Encrypted]:
        """Encrypt a batch in one transaction; a row is added only if the content changed."""
        with database.transaction(self._db):
            bodies.require_key(self._db, self._master)
            return self._encrypt(kind, load_id, batch)

    def _encrypt(self, kind: str, load_id: str, batch: Sequence[PersonalData]) -> list[Encrypted]:
        if len(self._ciphers) > _CIPHERS_KEPT:
            self._ciphers.clear()
        hashes = [self._hashes(item) for item in batch]
        ids = {item.id for item in batch}
        erased, previous = database.erased_ids(self._db, kind, ids), self._previous(kind, ids)
        shared = self._share({own for item, own in zip(batch, hashes, strict=True) if item.id not in erased})
        known = self._known({h for own in hashes for h in own} - shared)
        self._load_ciphers({before[1] for before in previous.values()})
        (last,) = self._db.execute("select coalesce(max(n), 0) from customers").fetchone()
        found = _Batch(kind, load_id, previous, shared, known, last, customers=[], moved=[], lookups={}, rows=[])
        items = zip(batch, hashes, strict=True)
        results = [_ERASED if item.id in erased else self._encrypt_one(found, item, own) for item, own in items]
        self._db.executemany("insert into customers values (?, ?, ?)", found.customers)
        self._db.executemany("insert or ignore into moved values (?)", found.moved)
        query = "insert into lookups values (?, ?, ?) on conflict do update set owns = max(owns, excluded.owns)"
        self._db.executemany(query, [(h, n, owns) for (h, n), owns in found.lookups.items()])
        self._db.executemany("insert into personal_data values (?, ?, ?, ?, ?, ?, ?, ?)", found.rows)
        return results

    def _encrypt_one(self, batch: _Batch, item: PersonalData, own: tuple[bytes, bytes]) -> Encrypted:
        """Add a version of an item's content, unless it is that of the version before, for its customer."""
        before = batch.previous.get(item.id)
        if item.content == _EMPTY and before is None:
            return _NOTHING
        digest = self._lookup.digest(item.content)
        is_same = before is not None and before[2] == digest
        old = None if before is None or is_same else self._content_before(batch.kind, item, before, batch.rows)
        n = self._choose_customer(batch, item, own, old)
        customer_key, cipher = self._ciphers[n]
        if before is not None and is_same:
            # raw files get this customer; if the row has another, it is filed again
            batch.moved.extend([(item.id,)] if before[1] != n else [])
            return Encrypted(customer_key, [])
        no = 1 if before is None else before[0] + 1
        bound = bodies.bound_to(customer_key, batch.kind, item.id, no, batch.load_id, item.seq)
        body = bodies.encrypt(cipher, item.content, bound)
        batch.rows.append((batch.kind, item.id, no, n, digest, batch.load_id, item.seq, body))
        batch.previous[item.id] = (no, n, digest)
        return Encrypted(customer_key, [] if old is None else _changed(old, item.content))

    def _choose_customer(self, batch: _Batch, item: PersonalData, own: tuple[bytes, bytes], old: bytes | None) -> int:
        """Return whom a contact tells, else the customer of the version before, else a new one; note the contacts."""
        before = batch.previous.get(item.id)
        owner = next((h for h in own if h and h not in batch.shared), None)
        n = batch.known.get(owner, 0) if owner else 0
        if not owner and before and before[1] in self._ciphers and not (old and self._is_anothers(item, old)):
            n = before[1]
        if n == 0:
            n = batch.last + len(batch.customers) + 1
            batch.customers.append(self._new_customer(n))
        batch.lookups.update(((h, n), h == owner) for h in own if h and (h != owner or h not in batch.known))
        if owner:
            batch.known.setdefault(owner, n)
        return n

    def _share(self, pairs: set[tuple[bytes, bytes]]) -> set[bytes]:
        """Note the contacts that orders state together; return those of them that too many people state to tell one."""
        query = "select hash from shared where hash in ($values)"
        shared = {h for (h,) in database.select_in_parts(self._db, query, {h for pair in pairs for h in pair if h})}
        both = {pair for pair in pairs if all(pair)}
        self._db.executemany("insert or ignore into pairs values (?, ?)", both)
        for at, by in enumerate(("phone", "email")):
            query = f"select {by} from pairs where {by} in ($values) group by 1 having count(*) > {self._most_people}"
            new = set(database.select_in_parts(self._db, query, {pair[at] for pair in both} - shared))
            self._db.executemany("insert into shared values (?, 0)", new)
            shared.update(h for (h,) in new)
        return shared

    def _new_customer(self, n: int) -> tuple[int, str, bytes]:
        key, customer_key = os.urandom(bodies.KEY_BYTES), os.urandom(_NAME_BYTES).hex()
        self._ciphers[n] = (customer_key, AESGCM(key))
        return n, customer_key, bodies.encrypt(self._master, key, customer_key.encode())

    def _one_more(self) -> int:
        """Add a customer."""
        (last,) = self._db.execute("select coalesce(max(n), 0) from customers").fetchone()
        self._db.execute("insert into customers values (?, ?, ?)", self._new_customer(last + 1))
        return int(last) + 1

    def _again(self, kind: str, id: int, no: int, n: int, load_id: str, seq: int, content: bytes) -> bytes:  # noqa: A002
        """Return the content of a version encrypted for customer `n`."""
        self._load_ciphers({n})
        customer_key, cipher = self._ciphers[n]
        bound = bodies.bound_to(customer_key, kind, id, no, load_id, seq)
        return bodies.encrypt(cipher, content, bound)

    def tally_rows(self) -> None:
        """Bind the versions that older code encrypted to their numbers, loads and places, and tally all rows; once."""
        if self._is_tallied:
            return
        last: tuple[Any, ...] = ("", 0, 0)
        following = "where (kind, id, no) > (?, ?, ?) order by kind, id, no limit ?"
        query = f"select {database.ROW} from personal_data {following}"
        with database.transaction(self._db):
            bodies.require_key(self._db, self._master)
            while rows := self._db.execute(query, (*last, _ROWS_AT_ONCE)).fetchall():
                for row in rows:
                    with suppress(bodies.VaultError):  # one that is damaged stays so
                        kind, id_, no, n, load_id, seq, _ = row
                        again = self._again(kind, id_, no, n, load_id, seq, self.content_of(*row))
                        self._db.execute(f"update personal_data set body = ? {_ONE}", (again, kind, id_, no))
                last = rows[-1][:3]
            self.tally.renew()
            bodies.state(self._db, self._master, bodies.TALLIED)
        self._is_tallied = True

    def _content_before(self, kind: str, item: PersonalData, before: _Previous, rows: list[Any]) -> bytes:
        """Return the content of the previous row, which may be of this batch; of one that was erased it is unknown."""
        found = next((row[:4] + row[5:] for row in rows if row[1] == item.id and row[2] == before[0]), None)
        if found is None:
            query = f"select {database.ROW} from personal_data {_ONE}"
            found = self._db.execute(query, (kind, item.id, before[0])).fetchone()
        try:
            return self.content_of(*found)
        except bodies.VaultError:
            return _EMPTY

    def accept_rows(self) -> None:
        """Tally the rows that there are; all orders are filed again next."""
        with database.transaction(self._db):
            self._db.execute("delete from meta where name = ?", (database.RULE,))
            if self._is_tallied:
                self.tally.renew()

    # -- decryption ----------------------------------------------------------------------------------------

    def decrypt(self, kind: str, id: int, *, at: tuple[str, int] | None = None) -> dict[str, Any]:  # noqa: A002
        """Return pointer → value of a document's personal data; numbers as int or Decimal, else as text.

        `at` is a load_id and seq: the version as of then. {} if there is none; VaultError if it was erased.
        """
        return database.values(self.decrypt_content(kind, id, at=at))

    def decrypt_content(self, kind: str, id: int, *, at: tuple[str, int] | None = None) -> bytes:  # noqa: A002
        """Return the same as the original JSON object, numbers in their own text."""
        load_id, seq = at or ("~", 0)
        where = "kind = ? and id = ? and (load_id, seq) <= (?, ?)"
        query = f"select {database.ROW} from personal_data where {where} order by no desc limit 1"
        row = self._db.execute(query, (kind, id, load_id, seq)).fetchone()
        if row is None and database.erased_ids(self._db, kind, {id}):
            raise bodies.VaultError(f"the personal data of {kind} {id} were erased")
        return self.content_of(*row) if row else _EMPTY

    def content_of(self, *row: Any) -> bytes:
        """Return the content of a stored row of `ROW`; raise VaultError if it was erased."""
        kind, id_, _, n, *_ = row
        self._load_ciphers({n})
        if n not in self._ciphers:
            raise bodies.VaultError(f"the personal data of {kind} {id_} were erased")
        customer_key, cipher = self._ciphers[n]
        return bodies.decrypt_version(cipher, customer_key, row, is_tallied=self._is_tallied)

    def _is_anothers(self, item: PersonalData, old: bytes) -> bool:
        """Tell whether an order without a contact has another name than its last version, which has a contact."""
        names = {database.person_of(old), database.person_of(item.content)} - {""}
        phone, email = database.contact(old)
        return len(names) > 1 and any(self._hashes(replace(item, phone=phone, email=email)))

    def _hashes(self, item: PersonalData) -> tuple[bytes, bytes]:
        """Return the keyed hashes of the phone number and the e-mail address, b"" for one that is nobody's."""
        return self._lookup.phone(item.phone or "", item.country), self._lookup.email(item.email or "")

    # -- looking up ----------------------------------------------------------------------------------------

    def _known(self, hashes: set[bytes]) -> dict[bytes, int]:
        """Return the customer whom each hash tells, unless erased, with the ciphers at hand."""
        query = "select hash, customer from lookups where owns and hash in ($values)"
        found = sorted(database.select_in_parts(self._db, query, hashes), reverse=True)
        self._load_ciphers({n for _, n in found})
        ciphers = self._ciphers
        return {h: n for h, n in found if n in ciphers}

    def _previous(self, kind: str, ids: set[int]) -> dict[int, _Previous]:
        """Return the last version of each of these documents."""
        query = "select id, no, customer, digest from personal_data where kind = ? and id in ($values) order by id, no"
        rows = database.select_in_parts(self._db, query, ids, kind)
        return {id_: (no, customer, digest) for id_, no, customer, digest in rows}

    def _load_ciphers(self, customers: set[int]) -> None:
        query = "select n, customer_key, wrapped from customers where n in ($values) and wrapped is not null"
        for n, customer_key, wrapped in database.select_in_parts(self._db, query, customers - self._ciphers.keys()):
            key = bodies.decrypt(self._master, wrapped, customer_key.encode())
            self._ciphers[n] = (customer_key, AESGCM(key))

    def _check_keys(self) -> None:
        with database.transaction(self._db):
            held = dict(self._db.execute("select name, value from meta").fetchall())
            if "master_check" not in held:
                bodies.state(self._db, self._master, bodies.TALLIED)
                self.tally.renew()
                self._db.execute("insert into meta values ('lookup_check', ?)", (self._lookup.check,))
                return
        since = f": its keys were rotated at {held['rotated_at'].decode()}" if "rotated_at" in held else ""
        if not bodies.is_master(self._db, self._master):
            raise bodies.VaultError(f"[vault] master_key is not the key that this vault was created with{since}")
        if held["lookup_check"] != self._lookup.check:
            raise bodies.VaultError(f"[vault] lookup_secret is not the secret that this vault was created with{since}")
