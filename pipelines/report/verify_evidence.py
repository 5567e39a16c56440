"""Verify a pack of evidence with nothing but Python's standard library: `python3 -I verify.py [--expect-head HASH]`.

Exit code 0: every file is the one that SHA256SUMS lists, none is missing or added, the ledger's acts follow each
other up to the head in head.txt, and every sealed file that is here is the one that its act names. 1: something is
not; it is named. Whoever changes a file can list it anew: compare what is printed, the hash of SHA256SUMS and the
head, with what was printed when the pack was made.
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
    """Return what a file holds; nothing where it is not there, which invalid_files tells."""
    return path.read_bytes() if path.is_file() else b""


def invalid_files(pack: Path) -> list[str]:
    """Return what is wrong with the files of the pack, against the list of their hashes."""
    found = {path.relative_to(pack).as_posix() for path in pack.rglob("*") if path.is_file()} - {"SHA256SUMS"}
    listed: dict[str, str] = {}
    sums = pack / "SHA256SUMS"
    if not sums.is_file():
        return ["SHA256SUMS: is not here"]
    sys.stdout.write(f"SHA256SUMS has the hash {digest(sums)}\n")
    for line in sums.read_text(encoding="utf-8").splitlines():
        sha256, _, name = line.partition("  ")
        listed[name] = sha256
    return [
        *(f"{name}: is listed and not here" for name in sorted(listed.keys() - found)),
        *(f"{name}: is here and not listed" for name in sorted(found - listed.keys())),
        *(
            f"{name}: is not the file that was listed"
            for name in sorted(listed.keys() & found)
            if digest(pack / name) != listed[name]
        ),
    ]


def invalid_entries(pack: Path, head: str) -> list[str]:
    """Return what is wrong with the ledger's chain; `head` is a hash that was kept elsewhere, or nothing."""
    wrong: list[str] = []
    previous, hashes = GENESIS, {GENESIS}
    absent: list[str] = []
    lines = content(pack / "ledger" / "ledger.jsonl").splitlines()
    for number, line in enumerate(lines, 1):
        try:
            act = json.loads(line)
            sha256 = act.pop("sha256")
        except (ValueError, KeyError, AttributeError):
            return [*wrong, f"act {number}: cannot be read"]
        text = json.dumps(act, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        if act.get("no") != number or act.get("previous") != previous:
            wrong.append(f"act {number}: does not follow the one before it")
        if hashlib.sha256(text).hexdigest() != sha256:
            wrong.append(f"act {number}: was changed after it was written")
        sealed = pack / "ledger" / str(act.get("file"))
        if act.get("file") and not sealed.exists():
            absent.append(str(number))
        elif act.get("file") and digest(sealed) != act.get("file_sha256"):
            wrong.append(f"act {number}: {act['file']} is not the file that it sealed")
        previous = sha256
        hashes.add(sha256)
    if head and head not in hashes:
        wrong.append(f"no act has the hash {head}")
    if content(pack / "head.txt").strip() != previous.encode():
        wrong.append("head.txt: does not hold the hash of the last act")
    sys.stdout.write(f"{len(lines)} acts; head {previous}\n")
    if absent:
        sys.stdout.write(f"Sealed rows that are not here, as of acts about other periods: {', '.join(absent)}\n")
    return wrong


def main() -> int:
    """Verify the pack that this file lies in, and say what is wrong."""
    pack = Path(__file__).resolve().parent
    arguments = sys.argv[1:]
    if arguments and (len(arguments) != len(("--expect-head", "HASH")) or arguments[0] != "--expect-head"):
        sys.stdout.write("usage: python3 -I verify.py [--expect-head HASH]\n")
        return 2
    wrong = [*invalid_files(pack), *invalid_entries(pack, arguments[1] if arguments else "")]
    sys.stdout.write("".join(f"WRONG: {each}\n" for each in wrong) or "Nothing was changed.\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
