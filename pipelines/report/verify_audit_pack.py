"""Verify an audit pack with nothing but Python's standard library: `python3 -I verify.py [--head HASH] [--sums HASH]`.

Exit code 0: the files are exactly those that SHA256SUMS lists, the ledger's chain is intact up to the head in head.txt,
every row file is the one that its entry names, and the orders in closes.csv are those that the entries were written
with, day by day. 1: something differs; it is named. 2: wrong usage. Someone who changes a file can also change
SHA256SUMS and the chain: give the hashes of both that were printed when the pack was made.
"""

import argparse
import csv
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

GENESIS = "0" * 64
AMOUNTS = ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price", "line_amount")
HASHED = ("order_id", "store_id", "business_date", "sale_class", "status", "currency", "payload_sha256", *AMOUNTS)
Day = tuple[int, str]  # number of the entry that closed it, and its date


def say(line: str) -> None:
    """Print a line; signs that could steer a terminal, which names in a forged pack may hold, are replaced."""
    sys.stdout.write("".join(sign if sign.isprintable() else "?" for sign in line) + "\n")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def content(path: Path) -> bytes:
    """Return the content of a file; empty if it is missing, which invalid_files reports."""
    return path.read_bytes() if path.is_file() else b""


def invalid_files(pack: Path, expected: str) -> list[str]:
    """Return how the files of the pack differ from SHA256SUMS, and that from the hash kept elsewhere, or empty."""
    found = {path.relative_to(pack).as_posix() for path in pack.rglob("*") if path.is_file()} - {"SHA256SUMS"}
    listed: dict[str, str] = {}
    sums = pack / "SHA256SUMS"
    if not sums.is_file():
        return ["SHA256SUMS: missing"]
    say(f"SHA256SUMS has the hash {digest(sums)}")
    kept = [f"SHA256SUMS: its hash is not {expected}"] if expected not in {"", digest(sums)} else []
    for line in sums.read_text(encoding="utf-8").splitlines():
        sha256, _, name = line.partition("  ")
        listed[name] = sha256
    both = sorted(listed.keys() & found)
    return [
        *kept,
        *(f"{name}: listed, but missing" for name in sorted(listed.keys() - found)),
        *(f"{name}: not listed" for name in sorted(found - listed.keys())),
        *(f"{name}: differs from SHA256SUMS" for name in both if digest(pack / name) != listed[name]),
    ]


def invalid_entries(pack: Path, head: str) -> list[str]:
    """Return where the ledger's chain is broken; `head` is a hash kept elsewhere, or empty."""
    wrong: list[str] = []
    previous, hashes = GENESIS, {GENESIS}
    absent: list[str] = []
    lines = content(pack / "ledger" / "ledger.jsonl").splitlines()
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            sha256 = str(entry.pop("sha256"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return [*wrong, f"entry {number}: cannot be read"]
        text = json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        if entry.get("no") != number or entry.get("previous") != previous:
            wrong.append(f"entry {number}: does not follow the one before it")
        if hashlib.sha256(text).hexdigest() != sha256:
            wrong.append(f"entry {number}: was changed after it was written")
        rows = pack / "ledger" / str(entry.get("file"))
        if entry.get("file") and not rows.is_file():
            absent.append(str(number))
        elif entry.get("file") and digest(rows) != entry.get("file_sha256"):
            wrong.append(f"entry {number}: {entry['file']} was changed")
        previous = sha256
        hashes.add(sha256)
    if head and head not in hashes:
        wrong.append(f"no entry has the hash {head}")
    if content(pack / "head.txt").strip() != previous.encode():
        wrong.append("head.txt: is not the hash of the last entry")
    say(f"{len(lines)} entries; head {previous}")
    if absent:
        say(f"Entries of other periods, whose rows are not in this pack: {', '.join(absent)}")
    return wrong


def closed_days(pack: Path) -> tuple[dict[Day, dict[str, Any]], set[Day]]:
    """Return what entries say of each day under an active close; and the days of which a store was reopened since."""
    active: dict[Day, dict[str, Any]] = {}
    partial: set[Day] = set()
    for line in content(pack / "ledger" / "ledger.jsonl").splitlines():
        entry = json.loads(line)
        body = entry["body"]
        if entry["act"] == "closed":
            active.update({(entry["no"], each["day"]): each for each in body.get("day_hashes", [])})
        elif entry["act"] == "reopened":
            days = {key for key in active if key[1] == body["day"]}
            partial |= days if body["store_id"] is not None else set()
            active = {key: each for key, each in active.items() if key not in days}
    return active, partial


def invalid_closes(pack: Path) -> list[str]:
    """Return the days whose orders in closes.csv are not those that the ledger's entries were written with."""
    active, partial = closed_days(pack)
    period = json.loads(content(pack / "period.json"))
    rows: dict[Day, list[dict[str, str]]] = {}
    with (pack / "closes.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows.setdefault((int(row["close_entry_no"]), row["business_date"]), []).append(row)
    inside = {key for key in active if period["first_day"] <= key[1] <= period["last_day"]}
    wrong = [f"closes.csv: the orders of {day}, closed by entry {no}, are missing" for no, day in inside - rows.keys()]
    untied = []
    for key, of_day in sorted(rows.items()):
        if key in active:
            where = f"closes.csv: {key[1]}, closed by entry {key[0]}"
            wrong += [f"{where}: {why}" for why in differences(of_day, active[key])]
        else:
            untied.append(f"{key[1]} ({'a store was reopened' if key in partial else 'its entry has no hash of rows'})")
    tied = len(rows) - len(untied)
    say(f"closes.csv: {tied} of {len(rows)} closed days compared with the ledger")
    if untied:
        say(f"Not compared: {', '.join(untied)}")
    return wrong


def differences(rows: list[dict[str, str]], entry: dict[str, Any]) -> list[str]:
    """Return how the orders of a day differ from its entry: their number, and their hash."""
    found = hashlib.sha256()
    for row in sorted(rows, key=lambda row: int(row["order_id"])):
        texts = [row[name] for name in HASHED]
        names = list(row)  # charges of later releases stand before the total
        later = names[names.index("loyalty_discount") + 1 : names.index("total_price")]
        texts += [f"{name} {row[name]}" for name in later if row[name]]
        found.update(json.dumps(texts, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return [
        *([f"{len(rows)} orders instead of {entry['order_count']}"] if len(rows) != entry["order_count"] else []),
        *(["other orders or amounts than were closed"] if found.hexdigest() != entry["rows_sha256"] else []),
    ]


def main() -> int:
    """Verify the pack that this file is in, and print every fault."""
    pack = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(prog="python3 -I verify.py", allow_abbrev=False)
    parser.add_argument("--head", "--expect-head", default="", metavar="HASH", help="a head kept elsewhere")
    parser.add_argument("--sums", "--expect-sums", default="", metavar="HASH", help="the hash of SHA256SUMS, likewise")
    given = parser.parse_args()
    wrong = [*invalid_files(pack, given.sums), *invalid_entries(pack, given.head)]
    if not wrong or (pack / "closes.csv").is_file():
        try:
            wrong += invalid_closes(pack)
        except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError, csv.Error):
            wrong.append("closes.csv: cannot be compared with the ledger")
    for line in [f"WRONG: {problem}" for problem in wrong] or ["Nothing was changed."]:
        say(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
