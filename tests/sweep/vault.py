"""Kill an erasure and a rotation of keys at their operations on files, one at a time; the same command finishes them.

python -m tests.sweep.vault --all
python -m tests.sweep.vault --only erase --at 17

Each operation is a point, as in `tests/sweep/points.py`. After a kill, which does half of a write, the command is given
again once; then vault, raw files, ledger, erasure log and the names of all files must be as without a kill, but for a
draft of checksums, which the next load replaces. No file may hold a key or lookup hash that was destroyed. The tables
are not built: the other sweep kills builds and releases.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import traceback
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from pipelines.landing import raw_files
from pipelines.landing.erasures import applied_erasures, note_erasure
from pipelines.ledger import ledger_of, verify
from pipelines.ledger.privacy import ROTATED, erasures
from pipelines.ledger.signed_head import checked_heads
from pipelines.privacy import Asked, PrivacyError, erase, erasure, rotate_keys
from pipelines.settings import load_settings
from pipelines.vault import VaultError, open_vault, rotation
from pipelines.vault.erasing import Erasing
from tests.privacy.conftest import ANN, BOB, World, land
from tests.sweep.bench import MODES, ROOT, SHIM
from tests.sweep.points import Point, all_points, sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.settings import Settings

COMMANDS = ("erase", "rotate")
_ARMED = "SWEEP_VAULT_SHIM"
_VARIES = re.compile(r"[0-9a-f]{6,}|\d{8}T\d+")


def main() -> int:
    """Run what was asked for; return 1 if anything was lost, 2 if it cannot run here."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="every point; takes some minutes")
    parser.add_argument("--each", type=int, default=1, help="points of each kind of operation and file")
    parser.add_argument("--most", type=int, default=0, help="points of each command at most; 0: all of those")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=COMMANDS)
    parser.add_argument("--on", default="", metavar="TEXT", help="only operations on files with this in their path")
    parser.add_argument("--at", type=int, help="one point alone, with --only")
    parser.add_argument("--plant", action="store_true", help="plant a fault in each command, which kills must show")
    asked = parser.parse_args()
    if _ARMED not in os.environ:
        return _armed()
    place = Path(tempfile.mkdtemp(prefix="sweep-vault-"))
    try:
        return Sweep(place, plant=asked.plant).run(asked)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _armed() -> int:
    """Build the shim and run this program again with it, which is the only way to load it."""
    with tempfile.TemporaryDirectory() as folder:
        shim = Path(folder) / "shim.so"
        try:
            subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, SHIM, "-ldl", "-lpthread"], check=True, timeout=60)
        except (OSError, subprocess.SubprocessError) as error:
            _say(f"cannot sweep here: {error}")
            return 2
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "LD_PRELOAD": str(shim), _ARMED: "1"}
        command = [sys.executable, "-m", "tests.sweep.vault", *sys.argv[1:]]
        return subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode


class Sweep:
    """One world with personal data, copied for every point; all work is done in forks of this process."""

    def __init__(self, folder: Path, *, plant: bool) -> None:
        self._base, self._place, self._trace = folder / "base", folder / "place", folder / "trace"
        self._plant = plant

    def run(self, asked: argparse.Namespace) -> int:
        """Try the points that were asked for; return 1 if any lost something."""
        self._child(self._base, _first)
        lost = 0
        for command in COMMANDS if asked.only is None else (asked.only,):
            expected = self._outcome(command, at=0)
            seen = [line.partition("\t")[2] for line in self._trace.read_text().splitlines()]
            every = [point for point in all_points({command: seen}, ("kill",)) if asked.on in point.operation]
            points = every if asked.all or asked.at else sample(every, asked.each, asked.seed)
            points = [point for point in points if asked.at in (None, point.at)][: asked.most or None]
            wrong = [point for point in points if not self._holds(point, expected)]
            lost += len(wrong)
            _say(f"{command}: {len(every)} operations, killed at {len(points)} of them, {len(wrong)} lost")
        return int(lost > 0)

    def _holds(self, point: Point, expected: dict[str, Any]) -> bool:
        got = self._outcome(point.stage, point.at)
        names = [name for name in expected if got.get(name) != expected[name]]
        if names:
            _say(f"LOST at {point.stage} {point.at}, {point.operation!r}")
            for line in [got["error"]] if "error" in got else [f"{n}: {got[n]}, not {expected[n]}" for n in names]:
                _say(f"  {line}")
        return not names

    def _outcome(self, command: str, at: int) -> dict[str, Any]:
        """Give the command, killed at its operation `at` (0: at none), give it again, and return what is there."""
        shutil.rmtree(self._place, ignore_errors=True)
        shutil.copytree(self._base, self._place, symlinks=True)
        file = self._place / "ordermart.toml"
        file.write_text(file.read_text("utf-8").replace(str(self._base), str(self._place)), encoding="utf-8")
        work = {"erase": _erase, "rotate": _rotate}[command]
        before = self._child(self._place, _found_bytes)
        killed = self._child(self._place, work, at=at, plant=self._plant, trace=True)
        if bool(at) != ("killed" in killed):
            return {"error": f"it was {'not ' if at else ''}killed: {killed}"}
        if at:
            again = self._child(self._place, work)
            if "error" in again:
                return again
        return self._child(self._place, lambda world: _state(world, command, before["secrets"]))

    def _child(
        self,
        place: Path,
        work: Callable[[World], dict[str, Any] | None],
        at: int | None = None,
        *,
        plant: bool = False,
        trace: bool = False,
    ) -> dict[str, Any]:
        """Work on a folder in a fork, with the shim armed if `at` is given; return its answer, or how it ended."""
        answer = self._base.with_name("answer.json")
        answer.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            found: dict[str, Any] = {}
            try:
                if plant:
                    _plant()
                if at is not None:
                    descriptor = os.open(self._trace, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) if trace else -1
                    shim, mode = ctypes.CDLL(None), MODES["kill"] if at else 0
                    shim.sweep_arm(str(place).encode(), mode, ctypes.c_long(at), descriptor, -1)
                found = work(World(place)) or {}
            except BaseException as error:  # noqa: BLE001 -- whatever it is, it is the answer
                found["error"] = "".join(traceback.format_exception(error))
            answer.write_text(json.dumps(found), encoding="utf-8")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        return {"killed": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else json.loads(answer.read_text("utf-8"))


def _first(world: World) -> None:
    land(world)
    world.configure(f'erasure_log = "{world.place / "elsewhere" / "erasures.jsonl"}"\n[ledger]\nwitness = "witness"\n')


def _settings(world: World) -> Settings:
    """Return the settings: with the new keys once the vault has them."""
    new = world.place / "new.json"
    for keys in (world.keys, new) if new.exists() else (world.keys,):
        settings = load_settings(world.file, {**world.environ, "ORDERMART_VAULT__KEY_FILE": str(keys)})
        try:
            with open_vault(settings):
                return settings
        except VaultError:
            continue
    raise VaultError("the vault opens neither with the old keys nor with the new ones")


def _erase(world: World) -> None:
    try:
        erase(world.settings, Asked("phone", ANN))
    except PrivacyError as error:
        if not erasures(ledger_of(world.data)) or "holds no personal data" not in str(error):
            raise  # else it had come to its end


def _rotate(world: World) -> None:
    rotate_keys(world.settings, world.place / "new.json")


def _found_bytes(world: World) -> dict[str, Any]:
    """Return what an erasure must destroy, and a rotation replace: Ann's key and lookup hashes, and all hashes."""
    with closing(sqlite3.connect(world.data / "vault" / "vault.sqlite")) as db:
        hashes = [each.hex() for (each,) in db.execute("select hash from lookups")]
    with open_vault(world.settings) as vault:
        (ann,) = vault.erasing.of_phone(ANN)
        (key,) = vault.erasing._db.execute("select customer_key from customers where n = ?", (ann.n,)).fetchone()
        own = [
            each.hex() for (each,) in vault.erasing._db.execute("select hash from lookups where customer = ?", (ann.n,))
        ]
    return {"secrets": {"erase": [key.encode().hex(), *own], "rotate": hashes}}


def _state(world: World, command: str, secrets: dict[str, list[str]]) -> dict[str, Any]:
    settings = _settings(world)
    content = b"".join(path.read_bytes() for path in world.place.rglob("*") if path.is_file())
    with open_vault(settings) as vault:
        orders: dict[int, Any] = {}
        for order_id in (1, 2, 3):
            try:
                orders[order_id] = vault.decrypt("orders", order_id)
            except VaultError as error:
                orders[order_id] = str(error)
        found = {who: [each.order_ids for each in vault.erasing.of_phone(who)] for who in (ANN, BOB)}
        refused = [body.asked for ref in vault.refused.refs("orders") if (body := vault.refused.open(ref))]
    rows = [pq.read_table(file.path).to_pylist() for file in raw_files(world.data, "orders").documents]
    seen = [pq.read_table(file.path).to_pylist() for file in raw_files(world.data, "orders").observations]
    names = {str(path.relative_to(world.place)) for path in world.place.rglob("*")}
    ledger, log = ledger_of(world.data), world.place / "elsewhere" / "erasures.jsonl"
    return json.loads(json.dumps({
        "orders": orders, "found": found, "refused": sorted(refused, key=str),
        "documents": sorted([row["id"], row["document"], bool(row["is_erased"])] for part in rows for row in part),
        "keys": sorted([row["load_id"], row["seq"], row["customer_key"]] for part in seen for row in part),
        "entries": [[each.act, {k: v for k, v in each.body.items() if k != "rotated_at"}] for each in ledger.entries()],
        "is intact": verify(ledger).entries, "heads": len(checked_heads(settings, ledger)),
        "noted": len(applied_erasures(world.data)),
        "log": len(log.read_bytes().splitlines()) if log.exists() else 0,
        "rotations": len(list(ledger.entries(ROTATED))),
        "left": [each for each in secrets[command] if bytes.fromhex(each) in content],
        "files": sorted(_VARIES.sub("#", name) for name in names - {"data/raw/checksums.json.tmp"}),
    }))  # fmt: skip


def _plant() -> None:
    """Note an erasure before it is applied, and rotate without a transaction: kills in between must show it."""
    real = Erasing.erase

    def too_early(self: Erasing, *arguments: Any) -> Any:
        data = self._folder.parent
        note_erasure(data, erasures(ledger_of(data))[-1].sha256)
        return real(self, *arguments)

    Erasing.erase = too_early  # type: ignore[method-assign]
    erasure.note_erasure = lambda *_: None
    rotation.transaction = lambda _: nullcontext()  # type: ignore[assignment,misc]


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
