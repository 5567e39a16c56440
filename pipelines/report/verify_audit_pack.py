"""Verify an audit pack with nothing but Python's standard library: `python3 -I verify.py [--expect-head HASH]`.

Exit code 0: the files are exactly those that SHA256SUMS lists, the ledger's chain is intact up to the head in head.txt,
and every row file is the one that its entry names. 1: something differs; it is named. Someone who changes a file can
also change SHA256SUMS: compare the printed hash of SHA256SUMS and the head with those printed when the pack was made.
"""

import hashlib
import json
import sys
from pathlib import Path

GENESIS = "0" * 64


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


def invalid_files(pack: Path) -> list[str]:
    """Return how the files of the pack differ from SHA256SUMS."""
    found = {path.relative_to(pack).as_posix() for path in pack.rglob("*") if path.is_file()} - {"SHA256SUMS"}
    listed: dict[str, str] = {}
    sums = pack / "SHA256SUMS"
    if not sums.is_file():
        return ["SHA256SUMS: missing"]
    sys.stdout.write(f"SHA256SUMS has the hash {digest(sums)}\n")
    for line in sums.read_text(encoding="utf-8").splitlines():
        sha256, _, name = line.partition("  ")
        listed[name] = sha256
    return [
        *(f"{name}: listed, but missing" for name in sorted(listed.keys() - found)),
        *(f"{name}: not listed" for name in sorted(found - listed.keys())),
        *(
            f"{name}: differs from SHA256SUMS"
            for name in sorted(listed.keys() & found)
            if digest(pack / name) != listed[name]
        ),
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
            sha256 = entry.pop("sha256")
        except (ValueError, KeyError, AttributeError):
            return [*wrong, f"entry {number}: cannot be read"]
        text = json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        if entry.get("no") != number or entry.get("previous") != previous:
            wrong.append(f"entry {number}: does not follow the one before it")
        if hashlib.sha256(text).hexdigest() != sha256:
            wrong.append(f"entry {number}: was changed after it was written")
        rows = pack / "ledger" / str(entry.get("file"))
        if entry.get("file") and not rows.exists():
            absent.append(str(number))
        elif entry.get("file") and digest(rows) != entry.get("file_sha256"):
            wrong.append(f"entry {number}: {entry['file']} was changed")
        previous = sha256
        hashes.add(sha256)
    if head and head not in hashes:
        wrong.append(f"no entry has the hash {head}")
    if content(pack / "head.txt").strip() != previous.encode():
        wrong.append("head.txt: is not the hash of the last entry")
    sys.stdout.write(f"{len(lines)} entries; head {previous}\n")
    if absent:
        sys.stdout.write(f"Entries of other periods, whose rows are not in this pack: {', '.join(absent)}\n")
    return wrong


def main() -> int:
    """Verify the pack that this file is in, and print what is wrong."""
    pack = Path(__file__).resolve().parent
    arguments = sys.argv[1:]
    if arguments and (len(arguments) != len(("--expect-head", "HASH")) or arguments[0] != "--expect-head"):
        sys.stdout.write("usage: python3 -I verify.py [--expect-head HASH]\n")
        return 2
    wrong = [*invalid_files(pack), *invalid_entries(pack, arguments[1] if arguments else "")]
    sys.stdout.write("".join(f"WRONG: {problem}\n" for problem in wrong) or "Nothing was changed.\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
