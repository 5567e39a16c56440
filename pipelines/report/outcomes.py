"""Say what commands did: backups and restores, differences of releases, verifications, personal data, costs, the inbox.

Control characters of personal data are escaped, so that they never reach a terminal; a delivery is shown without its
body.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.report.text import counted, moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pipelines.backup import BackedUp, Restored
    from pipelines.inbox.deliveries import StoredDelivery
    from pipelines.inbox.store import Entry
    from pipelines.privacy import Erasure
    from pipelines.vault.keys import Rotated
    from pipelines.warehouse.release.postgres import Copy
    from pipelines.warehouse.release.release_diff import Diff
    from pipelines.warehouse.rows.profile import Profile
    from pipelines.warehouse.verify import Verification


_MB = 10**6
_COSTLIEST = 25
_SECOND = 10**9  # in nanoseconds
_MIB = 1 << 20


def backup_lines(done: BackedUp) -> Iterator[str]:
    """Yield what was backed up, and what was not."""
    copied = f"{done.copied:,} of them copied ({done.bytes / _MB:,.1f} MB), the rest linked"
    yield f"{done.path}: {done.files:,} files, {copied}"
    if done.removed:
        yield f"{done.removed} older backups were removed, as --keep says."
    yield "Not in it: the vault's keys, without which personal data are lost, and the settings. Keep copies elsewhere."


def restore_lines(done: Restored) -> Iterator[str]:
    """Yield what was restored, what differs first."""
    found = done.comparison
    for sentence in found.different:
        yield f"DIFFERENT  {sentence}"
    yield from (*done.notes, *done.unopened)
    yield f"Restored from {done.backup}, taken at {done.manifest.taken_at}; published {done.release.path}"
    of = done.manifest.release.id if done.manifest.release else ""
    if found.why_not:
        yield f"Not compared with the release of that time: {found.why_not}."
    elif found.different:
        yield f"{len(found.different)} of {found.tables} tables differ from release {of}: report it, keep the backup."
    else:
        yield f"{found.tables} tables compared with release {of}: every row is the same."
    if found.left_out:
        yield f"Not compared, because the ledger or a log changed after it: {', '.join(found.left_out)}"


def diff_json(found: Diff) -> str:
    """Return the differences as one JSON object; amounts are texts, exact."""
    rows, amounts = found.changes.rows, found.changes.amounts
    said = {"previous_release_id": found.before, "release_id": found.after, "changes": rows, "changed_amounts": amounts}
    return json.dumps(said, default=str)


def diff_lines(found: Diff) -> Iterator[str]:
    """Yield a line per table, store and month with rows that differ, and one below it per amount."""
    yield f"{found.before} → {found.after}"
    if not found.changes.rows:
        yield "No row of core or mart differs."
    amounts: dict[tuple[object, ...], list[str]] = {}
    for each in found.changes.amounts:
        place = each["table_name"], each["store_id"], each["month"]
        was, now = ("null" if each[name] is None else str(each[name]) for name in ("previous_amount", "current_amount"))
        amounts.setdefault(place, []).append(f"    {each['column_name']}: {was} → {now}")
    for each in found.changes.rows:
        place = each["table_name"], each["store_id"], each["month"]
        store = "" if each["store_id"] is None else f", store {each['store_id']}"
        month = "" if each["month"] is None else f", {each['month']}"
        counts = [f"{each[f'{what}_row_count']:,} {what}" for what in ("added", "removed", "changed")]
        yield f"{each['table_name']}{store}{month}: rows {', '.join(counts)}"
        yield from amounts.get(place, [])


def verification_lines(found: Verification) -> Iterator[str]:
    """Yield the lines that tell it: the first difference of each table and place, then what was compared."""
    judged = found.judged()
    for difference in judged.wrong:
        yield f"DIFFERENT  {difference}"
    places = "the warehouse and the current release" if found.has_release else "the warehouse"
    became = f"{len(found.differences)} differences" if found.differences else "every row is the same"
    yield f"{found.orders:,} orders in {len(found.tables)} tables rebuilt and compared with {places}: {became}"
    for sentence in judged.unchecked:
        yield f"{sentence[0].upper()}{sentence[1:]}."
    if found.left_out:
        yield f"Not compared, because the ledger or a log changed since the build: {', '.join(sorted(found.left_out))}"
    if found.differences:
        yield "Run `ordermart build --full` to rebuild every table, and report the difference."


def erased(done: Erasure, backups: Sequence[Path], copies: Sequence[Copy]) -> Iterator[str]:
    """Yield the receipt of an erasure."""
    entry, destroyed = done.entry, done.destroyed
    if entry is not None:
        orders = len(entry.body["order_ids"])
        customers = counted(len(entry.body["customer_sha256"]), "customer", "customers")
        yield f"Erased {customers} with {counted(orders, 'order', 'orders')}."
        yield f"Ledger entry {entry.no} of {entry.at}, hash {entry.sha256}"
    yield (
        f"Destroyed: the keys and lookup hashes, {destroyed.versions:,} encrypted versions, "
        f"{destroyed.quarantined:,} quarantined bodies. Raw files rewritten: {done.rewritten:,}."
    )
    if done.build_error:
        yield f"NOT PUBLISHED  the tables could not be rebuilt ({done.build_error}): correct that, then erase again."
    for release in done.removed_releases:
        yield f"Removed release {release.name}, which had the erased orders."
    for release in done.kept_releases:
        yield f"STILL HELD  release {release} has the erased orders."
    yield from done.notes
    for copy in copies:
        yield f"STILL HELD  PostgreSQL {copy.place} has release {copy.release_id}: give `ordermart copy --to …` again."
    for backup in backups:
        yield f"STILL HELD  backup {backup} has the encrypted data: remove it."
    yield "Not covered: copies of the data folder or of releases that were made by other means, and new orders."


def rotated(done: Rotated, file: Path) -> Iterator[str]:
    """Yield what a rotation changed, and what to set now."""
    if done.is_new:
        yield f"Wrapped the keys of {done.customers:,} customers again, and rekeyed {done.versions:,} versions."
    else:
        yield "The vault has these keys already."
    yield f"Set [vault] key_file to {file}, or ORDERMART_VAULT__… to the values in it; restart the webhook receiver."
    yield "Keep a copy of the new keys elsewhere. Backups taken before need the old ones: keep those as long."


def as_json(value: Any) -> str:
    """Return plain values as indented JSON in ASCII; exact decimals are texts."""
    return json.dumps(value, indent=2, sort_keys=True, default=str)


def costs(profile: Profile) -> Iterator[str]:
    """Yield a table of the steps that took most processor time, and where the process used most memory."""
    ordered = sorted(profile.items(), key=lambda item: -item[1].cpu_ns)
    whole = sum(cost.cpu_ns for _, cost in ordered) or 1
    yield f"{'seconds':>9}{'CPU':>9}{'share':>7}{'peak MiB':>10}  table, or check of a table"
    rest = [cost for _, cost in ordered[_COSTLIEST:]]
    rows = [(name, cost.clock_ns, cost.cpu_ns, cost.peak) for name, cost in ordered[:_COSTLIEST]]
    if rest:
        clock, cpu = sum(cost.clock_ns for cost in rest), sum(cost.cpu_ns for cost in rest)
        rows.append((f"{len(rest)} others", clock, cpu, max(cost.peak for cost in rest)))
    for name, clock, cpu, peak in rows:
        yield f"{clock / _SECOND:9.2f}{cpu / _SECOND:9.2f}{cpu / whole:7.1%}{peak / _MIB:10,.0f}  {name}"
    if ordered:
        name, most = max(ordered, key=lambda item: item[1].peak)
        yield f"Most memory: {most.peak / _MIB:,.0f} MiB, in {name}"


def undecodable_list(deliveries: Iterable[StoredDelivery]) -> Iterator[str]:
    """Yield a line for each undecodable delivery, and what to do about them."""
    found = list(deliveries)
    for delivery in found:
        kept = "body kept in the vault" if delivery.vault_ref else "body not kept"
        yield (
            f"{delivery.seq}  {moment(delivery.received_at)}  {delivery.undecodable}; "
            f"topic {delivery.topic or 'unknown'}, delivery {delivery.delivery_id or 'without an id'}, "
            f"{delivery.size:,} bytes, {kept}"
        )
    if found:
        what = counted(len(found), "undecodable delivery", "undecodable deliveries")
        fix = "Correct [webhooks] topic_locations and id_locations, then run `ordermart webhooks reprocess`."
        yield f"{what}. {fix}"
    else:
        yield "There are no undecodable deliveries."


def reprocessed(decoded: int, undecoded: int) -> str:
    """Return the sentence about reprocessed deliveries."""
    if not decoded and not undecoded:
        return "There are no undecodable deliveries to reprocess."
    return f"{decoded:,} decoded and put on the work list; {undecoded:,} still undecodable."


def retried(letters: list[Entry]) -> Iterator[str]:
    """Yield lines on retried entries of the dead-letter queue: how many of each kind and reason."""
    if not letters:
        yield "Nothing to retry."
        return
    ids = defaultdict(list)
    for letter in letters:
        ids[letter.kind, letter.reason or "no reason recorded"].append(letter.id)
    for (kind, reason), failed in sorted(ids.items()):
        yield f"  {kind}: {len(failed):,}, such as {failed[0]}, failed: {reason}"
    due = counted(len(letters), "id is", "ids are")
    yield f"{due} due again: the next `ordermart run` requests what was in the queue."


def waiting(data_dir: Path) -> Iterator[str]:
    """Yield lines on ids that wait after a rejection or failure, and on the dead-letter queue, if there are any."""
    path = inbox_path(data_dir)
    if not path.exists():
        return
    with WorkList(path) as work:
        rejected = work.rejected_counts()
        dead = {kind: states["dead"] for kind, states in work.counts().items() if "dead" in states}
    if rejected:
        yield f"  waiting after a rejection or failure: {_listed(rejected)}; they are requested again on later days"
    if dead:
        yield f"  in the dead-letter queue: {_listed(dead)}; `ordermart retry` requests them again"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {number:,}" for kind, number in counts.items())
