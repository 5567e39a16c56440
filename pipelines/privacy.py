"""The rights of the people whose orders these are: erase, reveal and export personal data; rotate the keys.

Downstream of vault, raw, ledger and releases, which each erase their own part. Whatever is shown has an entry in the
ledger before, without personal data; so has an erasure: then come vault and raw files, tables and older releases.

Whatever is killed when, the same request or the next run goes on with it: an erasure that is in the ledger is applied
until raw/ notes it, and published until the keyed hash of its request is removed from the vault's folder. The entry
names customers by a hash of their random key.

The erasure log is a copy of every erasure outside the data folder, so that a restored backup does not undo them: they
are applied to it. It has one JSON line per erasure, as in the ledger, and one per backup: a log that names a backup has
the erasures after it.
"""

import datetime as dt
import fcntl
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import msgspec

from pipelines.durable import make_folder, write_whole
from pipelines.finance.closing import build_and_record
from pipelines.finance.released import FinanceError
from pipelines.inventory import VAULT, read_inventory, why_not_continued
from pipelines.landing.customers import filing_rule, settle_customers
from pipelines.landing.data_folder import applied_erasures, erasure_log_place, guard_source, migrate, note_erasure
from pipelines.landing.merge import erase_in_raw
from pipelines.landing.raw_folder import LandingError, raw_files
from pipelines.landing.unknown_fields import unknown_pattern
from pipelines.ledger import Ledger, LedgerEntry, LedgerError, entries, ledger_of
from pipelines.ledger.signed_head import sign_missing_heads, signing_ledger
from pipelines.record import current_release
from pipelines.settings import Settings, SettingsError
from pipelines.settings.setting_tables import Secret
from pipelines.vault import Destroyed, Person, Vault, open_vault
from pipelines.vault.bodies import Rotated, new_keys, read_keys, rotate
from pipelines.vault.database import all_erased
from pipelines.warehouse.building.build import warehouse_file
from pipelines.warehouse.inputs.relations import MissingDocumentError
from pipelines.warehouse.release.manifest import DATABASE, read_manifest, remove_release
from pipelines.warehouse.release.release import publish
from pipelines.warehouse.rows.fresh_rows import BuildBlocked

Progress = Callable[[str, int, int], None]


class PrivacyError(Exception):
    """A request about personal data cannot be met; the message says why, and never a value."""


class PersonRequest(NamedTuple):
    """By what a person is found, and the value: an order id, a phone number or an e-mail address."""

    found_by: entries.FoundBy
    value: str

    def __repr__(self) -> str:
        return f"PersonRequest({self.found_by}, …)"


class Facts(NamedTuple):
    """What an operator sees before a person's data are shown or erased: counts and days, never a value."""

    order_ids: list[int]
    stores: int
    first_day: str
    last_day: str
    phones: int
    emails: int
    names: int
    bodies: int

    @property
    def may_be_several(self) -> bool:
        """Tell whether the orders may be several people's."""
        return len(self.order_ids) > 1 and max(self.phones, self.names) > 1

    def confirm(self, orders: int | None) -> None:
        """Raise PrivacyError unless the number of orders was given, where they may be several people's."""
        count = len(self.order_ids)
        if orders is None and self.may_be_several:
            raise PrivacyError(
                f"these {count} orders have {self.phones} phone numbers and {self.names} names, so they may be several "
                f"people's: give --orders {count} if they are one person's; nothing was done"
            )
        if orders not in {None, count}:
            raise PrivacyError(f"--orders {orders}: the number of orders is {count}; nothing was done")


Confirm = Callable[[Facts], None]


def find(vault: Vault, asked: PersonRequest) -> Person:
    """Return all data held of a person; raise PrivacyError if it is nothing, or rows of the vault were changed."""
    _require_whole(vault)
    erasing, what = vault.erasing, {"phone": "phone number", "email": "e-mail address"}.get(asked.found_by)
    if what is None:
        found = erasing.of_order(int(asked.value))
    elif erasing.is_shared(asked.found_by, asked.value):
        raise PrivacyError(
            f"this {what} identifies nobody: it is masked, a relay address, no contact, or stated with more than "
            f"{erasing.rule.most_people} others ([privacy] max_people_per_contact). Ask by another, or by --order-id"
        )
    else:
        found = erasing.of_contact(asked.found_by, asked.value)
    if not any(found):
        of = f"this {what}" if what else f"order {asked.value}"
        raise PrivacyError(f"the vault holds no personal data of {of}: erased, or never landed")
    return found


def _require_whole(vault: Vault) -> None:
    if broken := vault.tally.broken("personal_data", "erased", "shared"):
        why = f"rows of the vault were changed without its keys ({'; '.join(broken)}), so nothing was shown or erased"
        raise PrivacyError(f"{why}: restore it from a backup, or see `ordermart inventory`")


def facts_of(settings: Settings, person: Person) -> Facts:
    """Return what an operator sees of a person; stores and days are those of the landed orders."""
    ids, (phones, emails, names) = person.order_ids, map(len, person.contacts)
    paths = [str(file.path) for file in raw_files(settings.data_dir, "orders").documents if file.path.exists()]
    stores, first, last = 0, "", ""
    if ids and paths:
        query = """
            select count(distinct document ->> '$.store_id'), min(left(document ->> '$.created_at', 10)),
                max(left(document ->> '$.created_at', 10))
            from read_parquet(?, union_by_name = true) where id in (select unnest(?::bigint[]))
        """
        row = duckdb.execute(query, [paths, ids]).fetchone()
        stores, first, last = row or (0, "", "")
    return Facts(ids, stores, first or "", last or "", phones, emails, names, len(person.refused))


def _record(settings: Settings, act: str, user: entries.User | None, **body: Any) -> None:
    signing_ledger(settings).append(act, body | (user or entries.current_user()).body)


def reveal(settings: Settings, order_id: int, reason: str, user: entries.User | None = None) -> dict[str, Any]:
    """Return an order's personal data by pointer, and record who saw it and why; raise PrivacyError or VaultError."""
    _require_erased(settings)
    with open_vault(settings) as vault:
        _require_whole(vault)
        found = vault.decrypt("orders", order_id)
    if not found:
        raise PrivacyError(f"the vault holds no personal data of order {order_id}")
    _record(settings, entries.REVEALED, user, order_id=order_id, reason=reason)
    return found


def undocumented(settings: Settings, reason: str, user: entries.User | None = None) -> list[dict[str, Any]]:
    """Return the undocumented fields of orders with their true names, and record who saw them and why."""
    orders: Counter[str] = Counter()
    owners: defaultdict[str, set[int]] = defaultdict(set)
    _require_erased(settings)
    with open_vault(settings) as vault:
        _require_whole(vault)
        for customer, content in vault.erasing.orders():
            for pattern in {found for pointer in content if (found := unknown_pattern(pointer))}:
                orders[pattern] += 1
                owners[pattern].add(customer)
    _record(settings, entries.FIELDS_REVEALED, user, reason=reason, field_count=len(orders))
    return [{"path": p, "order_count": n, "customer_count": len(owners[p])} for p, n in orders.most_common()]


def export(
    settings: Settings, asked: PersonRequest, user: entries.User | None = None, *, confirm: Confirm = lambda _: None
) -> dict[str, Any]:
    """Return the data held about a person, every version, and record that it was exported.

    `confirm` sees what was found, and raises if it is not to be shown. The caller holds the run lock: orders that an
    older version filed are filed again. Raise PrivacyError if nothing is held.
    """
    _require_erased(settings)
    settle_customers(settings)
    with open_vault(settings, filing_rule(settings)) as vault:
        found = find(vault, asked)
        if asked.found_by != "order_id":
            found = vault.erasing.shown(found, vault.erasing.stated(asked.found_by, asked.value))
        customers = vault.erasing.key_hashes({v.customer for v in found.versions})
        bodies = vault.erasing.bodies(found.refused)
    confirm(facts_of(settings, found))
    found_by, count = asked.found_by, len(found.versions)
    _record(settings, entries.EXPORTED, user, found_by=found_by, customer_sha256=customers, version_count=count)
    documents = [
        {"kind": "orders", "id": v.id, "version": v.no, "load_id": v.load_id, "fields": v.fields}
        for v in found.versions
    ]
    shown = {"customer_count": len(customers), "order_ids": found.order_ids, "personal_data": documents}
    return shown | {"quarantined_bodies": bodies}


def rotate_keys(
    settings: Settings, file: Path, user: entries.User | None = None, progress: Progress | None = None
) -> Rotated:
    """Give the vault the keys of a file, created if necessary; doing it again changes nothing.

    The caller holds the run lock. Raise PrivacyError if there is no vault yet, VaultError for unusable keys.
    """
    path = settings.data_dir / "vault" / "vault.sqlite"
    if not path.exists():
        raise PrivacyError("there is no vault yet: `ordermart vault generate-keys FILE` makes the keys of a new one")
    done = rotate(path, read_keys(settings), new_keys(file), progress)
    # Only the new keys open the vault, which keeps the key that signs.
    vault = msgspec.structs.replace(
        settings.vault, key_file=str(file.resolve()), master_key=Secret(""), lookup_secret=Secret("")
    )
    rotated = msgspec.structs.replace(settings, vault=vault)
    settle_customers(rotated)
    sign_missing_heads(rotated)
    rotations = ledger_of(settings.data_dir).entries(entries.ROTATED)
    if done.at and not any(entry.body["rotated_at"] == done.at for entry in rotations):
        figures = {"rotated_at": done.at, "customer_count": done.customers, "version_count": done.versions}
        _record(rotated, entries.ROTATED, user, **figures)
    return done


LOG = "erasures.jsonl"


class ErasureLog(NamedTuple):
    """What a log holds: body of each erasure by the hash of its first entry, and the names of backups."""

    erasures: dict[str, dict[str, Any]]
    backups: set[str]


def erasure_log(settings: Settings, folder: Path | None = None) -> Path | None:
    """Return the erasure log that settings or a folder name, or None; raise SettingsError inside the data folder."""
    place = settings.privacy.erasure_log or erasure_log_place(folder or settings.data_dir)
    if not place:
        return None
    path = (settings.file.parent / place).resolve()
    if path.is_relative_to(settings.data_dir):
        raise SettingsError(f"[privacy] erasure_log: {path} is lost with the data folder: name a file elsewhere")
    return path


def required_log(settings: Settings, *, has_backups: bool) -> Path | None:
    """Return the log that an erasure must be written to; None if there is neither a backup nor a setting.

    Raise PrivacyError if there are backups, which would bring the data back, and no log: nothing was erased yet.
    """
    log, is_remembered = erasure_log(settings), bool(erasure_log_place(settings.data_dir))
    if log is None and has_backups:
        raise PrivacyError(
            "there are backups, which would bring the data back when restored: set [privacy] erasure_log to a file "
            "outside the data folder, then erase again; nothing was erased"
        )
    if log and (is_remembered or log.exists()):
        read_log(log)
    return log


def add_to_log(path: Path, erased: Iterable[LedgerEntry], backups: Iterable[str] = ()) -> None:
    """Add the erasures and names of backups that the log does not have yet, durably; create it if it is missing."""
    make_folder(path.parent)
    with path.with_name(path.name + ".lock").open("a") as lock:  # a backup may go on while somebody is erased
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = read_log(path) if path.exists() else ErasureLog({}, set())
        lacking = [e for e in erased if entries.origin(e) not in known.erasures]
        new = [{"sha256": entries.origin(e), "at": e.at, "body": e.body} for e in lacking]
        new += [{"backup": name} for name in backups if name not in known.backups]
        if new or not path.exists():
            content = path.read_bytes() if path.exists() else b""
            write_whole(path, content + b"".join(json.dumps(line, sort_keys=True).encode() + b"\n" for line in new))


def read_log(path: Path) -> ErasureLog:
    """Return what a log holds; raise PrivacyError if it cannot be read."""
    try:
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        erased = {line["sha256"]: dict(line["body"]) for line in lines if "backup" not in line}
        return ErasureLog(erased, {str(line["backup"]) for line in lines if "backup" in line})
    except FileNotFoundError:
        why = f"[privacy] erasure_log: {path} is missing: without it, erased data would come back"
        raise PrivacyError(f"{why}. Bring it back, or take a backup, which writes it again from the ledger") from None
    except OSError as error:
        raise PrivacyError(f"[privacy] erasure_log: {path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise PrivacyError(f"[privacy] erasure_log: {path} is damaged: bring it back from a copy") from None


_NOTHING = Destroyed(0, 0, 0)


@dataclass
class Erasure:
    """What erasures did: the last one's entry, what was destroyed, and where copies were removed or remain."""

    entry: LedgerEntry | None = None
    destroyed: Destroyed = _NOTHING
    rewritten: int = 0
    removed_releases: list[Path] = field(default_factory=list)
    kept_releases: list[Path] = field(default_factory=list)
    build_error: str = ""
    notes: tuple[str, ...] = ()


def erase(
    settings: Settings,
    asked: PersonRequest,
    user: entries.User | None = None,
    *,
    has_backups: bool = False,
    progress: Progress | None = None,
    confirm: Confirm = lambda _: None,
) -> Erasure:
    """Erase the orders that a request finds, in all their versions, and bodies that name the person.

    Then rebuild the tables, publish, and remove older releases. `confirm` sees what was found, and raises if it is not
    to be erased. The caller holds the run lock, and calls `forget_request` once it has shown the result: until then the
    same request goes on with what a kill or an error left. Raise PrivacyError if nothing is held of them, or if there
    are backups and no erasure log: restoring one would undo the erasure; SettingsError for data of another service.
    """
    required_log(settings, has_backups=has_backups)
    if (settings.data_dir / "raw").exists():
        guard_source(settings)
    migrate(settings.data_dir)
    sign_missing_heads(settings)
    done, under_way = apply_erasures(settings), _request_file(settings.data_dir)
    settle_customers(settings)
    with open_vault(settings, filing_rule(settings)) as vault:
        request = vault.erasing.request_hash(asked.found_by, asked.value)
        try:
            found = find(vault, asked)
        except PrivacyError:
            if not under_way.exists() or under_way.read_bytes() != request:
                raise
            found = Person()  # this one destroyed them before it was killed
        customers = vault.erasing.key_hashes({each.customer for each in found.versions})
    if any(found):
        confirm(facts_of(settings, found))
        order_ids = [int(asked.value)] if asked.found_by == "order_id" else found.order_ids
        body: dict[str, Any] = {"found_by": asked.found_by, "customer_sha256": customers, "order_ids": order_ids}
        body |= {"refused": list(found.refused), "is_by_order": True}  # customers keep their other orders
        write_whole(under_way, request)
        _record(settings, entries.ERASED, user, **body)
        done = apply_erasures(settings)
    done.entry = done.entry or entries.erasures(ledger_of(settings.data_dir))[-1]
    _publish(settings, done, progress)
    return done


def finish_erasure(settings: Settings, progress: Progress | None = None) -> None:
    """Finish an erasure that was killed: apply it, and publish and remove releases if it had not come so far."""
    done = apply_erasures(settings)
    if _request_file(settings.data_dir).exists():
        _publish(settings, done, progress)
        if not done.build_error:
            forget_request(settings.data_dir)


def forget_request(data_dir: Path) -> None:
    """Forget which request is under way: its erasure is complete, and its result was shown."""
    _request_file(data_dir).unlink(missing_ok=True)


def _request_file(data_dir: Path) -> Path:
    """Return the file that has the keyed hash of the request that is under way."""
    return data_dir / "vault" / "erasing"


def _publish(settings: Settings, done: Erasure, progress: Progress | None) -> None:
    """Rebuild the tables, publish, and remove the releases from before."""
    try:
        if warehouse_file(settings.data_dir).exists() or current_release(settings.data_dir / "published"):
            build_and_record(settings, progress=progress)
            done.notes = publish(settings).notes
    except (BuildBlocked, LandingError, LedgerError, FinanceError, MissingDocumentError) as error:
        done.build_error = str(error)
    remove_old_releases(settings, done)


def apply_erasures(settings: Settings, *, is_logged: bool = False) -> Erasure:
    """Apply every erasure of the ledger that this data folder did not go through yet, and add it to the erasure log.

    Also one that the vault lacks: its file is older than the ledger, put back from a copy. Raise VaultError without the
    vault's keys, PrivacyError if the erasure log cannot be read.
    """
    done = Erasure()
    recorded = entries.erasures(ledger_of(settings.data_dir))
    applied, lacking = set(applied_erasures(settings.data_dir)), _lacking(settings, recorded)
    if not (pending := [e for e in recorded if e.sha256 not in applied or e.sha256 in lacking]):
        return done
    if not is_logged and (log := required_log(settings, has_backups=False)):
        add_to_log(log, pending)
    with open_vault(settings, filing_rule(settings)) as vault:
        for entry in pending:
            hashes = () if entry.body.get("is_by_order") else entry.body["customer_sha256"]
            order_ids = entry.body["order_ids"]
            part = vault.erasing.erase(hashes, order_ids, entry.body.get("refused", ()))
            customers, versions, quarantined, _ = (a + b for a, b in zip(done.destroyed, part, strict=True))
            done.destroyed = Destroyed(customers, versions, quarantined, part.unread)
            done.rewritten += erase_in_raw(settings.data_dir, order_ids, hashes)
            if entry.sha256 not in applied:
                note_erasure(settings.data_dir, entry.sha256)
            done.entry = entry
    return done


def _lacking(settings: Settings, recorded: list[LedgerEntry]) -> set[str]:
    """Return the hashes of these erasures that the vault's file did not go through."""
    path = settings.data_dir / "vault" / "vault.sqlite"
    erased = all_erased(path, "orders") if recorded and path.exists() else set()
    return {each.sha256 for each in recorded if path.exists() and not erased.issuperset(each.body["order_ids"])}


def _require_erased(settings: Settings) -> None:
    """Raise PrivacyError if the vault's file is from before an erasure of the ledger, or lacks what was recorded of it.

    It would show the erased, or say of orders that it lost that there were none.
    """
    if _lacking(settings, list(ledger_of(settings.data_dir).unchained(entries.ERASED))):
        what = "vault/vault.sqlite is from before an erasure that the ledger has, so it was put back from a copy"
        raise PrivacyError(f"{what}: `ordermart run` erases again what it brought back; nothing was shown")
    store = read_inventory(settings.data_dir).stores.get(VAULT)
    if store and (why := why_not_continued(settings.data_dir / VAULT, store)):
        raise PrivacyError(f"{VAULT}: {why}. `ordermart inventory` says what to do; nothing was shown")


def remove_old_releases(settings: Settings, done: Erasure | None = None) -> Erasure:
    """Remove releases from before an erasure that have its orders, or only name them if settings keep them.

    A warehouse file that was set aside as damaged goes, too. The current release is never removed.
    """
    done = done or Erasure()
    if not (recorded := entries.erasures(ledger_of(settings.data_dir))):
        return done
    for damaged in warehouse_file(settings.data_dir).parent.glob("*.damaged-*"):
        damaged.unlink()
    published = settings.data_dir / "published"
    current = current_release(published)
    for release in sorted((published / "releases").glob("[!.]*")):
        if not _has_any(release, _erased_since(release, recorded)):
            continue
        if settings.privacy.remove_releases and release.resolve() != current:
            remove_release(release)
            done.removed_releases.append(release)
        else:
            done.kept_releases.append(release)
    return done


def _erased_since(release: Path, recorded: Iterable[LedgerEntry]) -> list[int]:
    """Return the orders that were erased after a release was made."""
    manifest = read_manifest(release)
    made = dt.datetime.fromisoformat(manifest.as_of or manifest.published_at) if manifest else None
    return [order_id for each in recorded if made is None or each.moment > made for order_id in each.body["order_ids"]]


def _has_any(release: Path, order_ids: list[int]) -> bool:
    if not order_ids:
        return False
    try:
        with duckdb.connect(str(release / DATABASE), read_only=True) as con:
            query = "select 1 from core.orders where list_contains(?::bigint[], order_id) limit 1"
            return con.execute(query, [order_ids]).fetchone() is not None
    except duckdb.Error:
        return True  # whatever it has cannot be looked at


class NoErasures(NamedTuple):
    """Somebody's word that nobody was erased since a backup, or that nobody changed it: the reason, and who says so."""

    reason: str
    user: entries.User | None = None

    def body_of(self, backup: str) -> dict[str, Any]:
        """Return the body of the entry of it."""
        return {"backup": backup, "reason": self.reason, **(self.user or entries.current_user()).body}


def known_erasures(
    settings: Settings, backup: Path, ledgers: Iterable[Path], word: NoErasures | None
) -> dict[str, dict[str, Any]]:
    """Return every erasure that is known of: hash of its first entry → body.

    `ledgers` are those of backups. Raise PrivacyError unless the erasure log reaches beyond the backup, or somebody
    gives their word; VaultError if there were erasures and the vault's keys are not set: nothing may be restored then.
    """
    log = erasure_log(settings, backup)
    found = read_log(log) if log and (log.exists() or word is None) else ErasureLog({}, set())
    if backup.name not in found.backups and word is None:
        why = f"{log} does not name {backup.name}, so it may be older" if log else "no erasure log is known"
        raise PrivacyError(
            f"erasures after this backup cannot be applied: {why}. Set [privacy] erasure_log to the present log, or "
            "give --no-erasures-since REASON if nobody was erased since; nothing was restored"
        )
    known = {entries.origin(e): e.body for each in ledgers for e in _readable_erasures(each)} | found.erasures
    if known:
        read_keys(settings)
    return known


def _readable_erasures(ledger: Path) -> list[LedgerEntry]:
    """Return the erasures of a backup's ledger; none if it is damaged, which a restore of that backup names."""
    try:
        return entries.erasures(Ledger(ledger))
    except LedgerError:
        return []


def apply_to_restored(
    settings: Settings, known: dict[str, dict[str, Any]], backup: str, word: NoErasures | None
) -> int:
    """Apply erasures that a restored folder lacks, and a word that there are none, as new entries; return how many."""
    ledger = signing_ledger(settings, is_restored=True)
    if word:
        ledger.append(entries.NO_ERASURES, word.body_of(backup))
    here = {entries.origin(entry) for entry in entries.erasures(ledger)}
    missing = {sha256: body for sha256, body in known.items() if sha256 not in here}
    for sha256, body in missing.items():
        ledger.append(entries.ERASED, {**body, "copied_from": sha256})
    if known:
        apply_erasures(settings, is_logged=True)
    return len(missing)
