"""Kill an erasure, a restore and a rotation of keys at their operations on files; the same command finishes them.

python -m tests.sweep.vault --all
python -m tests.sweep.vault --only erase --at 17
python -m tests.sweep.vault --only restore --power --most 20

Each operation is a point, as in `tests/sweep/points.py`; `--power` loses power after it instead, as in
`tests/sweep/power.py`. After a kill, which does half of a write, the command is given again once and must succeed; then
vault, raw files, ledger, erasure log, published rows and the names of all files must be as without a kill, but for
drafts, which the next run replaces. No file may hold a key or lookup hash that was destroyed.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import traceback
from contextlib import closing, nullcontext, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from pipelines import privacy
from pipelines.backup import BackupError, back_up, restore
from pipelines.finance.closing import build_and_record
from pipelines.ingest.lock import RESTORE, run_lock
from pipelines.landing.data_folder import applied_erasures, note_erasure
from pipelines.landing.raw_folder import raw_files
from pipelines.ledger import ROTATED, erasures, ledger_of, verify
from pipelines.ledger.signed_head import checked_heads
from pipelines.privacy import PersonRequest, erase, forget_request, rotate_keys
from pipelines.settings import load_settings
from pipelines.vault import Erasing, VaultError, open_vault
from pipelines.vault import bodies as vault_keys
from pipelines.warehouse.release.release import publish
from tests.forked import prepare_builds
from tests.privacy.conftest import ANN, BOB, World, land
from tests.sweep.bench import MODES, ROOT, SHIM
from tests.sweep.disk import Disk, recorded
from tests.sweep.points import Point, all_points, sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.settings import Settings

COMMANDS = ("erase", "rotate", "restore")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
_ARMED = "SWEEP_VAULT_SHIM"
_VARIES = re.compile(r"[0-9a-f]{6,}|\d{8}T\d+")
_TIMES = {"rotated_at", "copied_from"}  # a time, and a hash over one
_DRAFTS = {"data/warehouse/warehouse.duckdb.building"} | {  # the next write replaces them
    f"data/{name}.tmp" for name in ("raw/checksums.json", "inventory.json", "inventory-copy.json")
}
_DERIVED = ("data/published/", "data/warehouse/")  # made again of the rest, and built by nights that are swept, too


def main() -> int:
    """Run what was asked for; return 1 if anything was lost, 2 if it cannot run here."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="every point that may end differently; takes an hour")
    parser.add_argument("--each", type=int, default=1, help="points of each kind of operation and file")
    parser.add_argument("--most", type=int, default=0, help="points of each command at most; 0: all of those")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=COMMANDS)
    parser.add_argument("--on", default="", metavar="TEXT", help="only operations on files with this in their path")
    parser.add_argument("--at", type=int, help="one point alone, with --only")
    parser.add_argument("--after", type=int, default=0, help="only points after this one, with --only")
    parser.add_argument("--power", action="store_true", help="lose power after an operation instead")
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
        self._record, self._before = folder / "record", folder / "before"
        self._secrets: dict[str, list[str]] = {}
        self._plant = plant

    def run(self, asked: argparse.Namespace) -> int:
        """Try the points that were asked for; return 1 if any lost something."""
        found = self._child(self._base, _first)
        for name in found.get("modules", ()):  # once, and not in each fork
            with suppress(ImportError):
                import_module(name)
        prepare_builds()
        lost = 0
        for command in COMMANDS if asked.only is None else (asked.only,):
            expected = self._outcome(command, at=0)
            if "error" in expected:
                _say(f"{command} does not work without a kill: {expected['error']}")
                return 1
            if asked.power:
                lost += self._lose_power(command, expected, asked)
                continue
            seen = [line.partition("\t")[2] for line in self._trace.read_text().splitlines()]
            every = [point for point in all_points({command: seen}, ("kill",)) if asked.on in point.operation]
            points = every if asked.at else distinct(every) if asked.all else sample(every, asked.each, asked.seed)
            points = [point for point in points if asked.at in (None, point.at) and point.at > asked.after][
                : asked.most or None
            ]
            wrong = [p for p in points if not self._holds(f"{p.at}, {p.operation!r}", self._outcome(*p[:2]), expected)]
            lost += len(wrong)
            _say(f"{command}: {len(every)} operations, killed at {len(points)} of them, {len(wrong)} lost")
        return int(lost > 0)

    def _lose_power(self, command: str, expected: dict[str, Any], asked: argparse.Namespace) -> int:
        """Lose power after operations of the command that was recorded last; return at how many something was lost."""
        operations, disk = recorded(self._record), Disk(self._before)
        points: list[Point] = []
        seen: set[bytes] = set()
        count = 0
        for at, each in enumerate(operations):
            for loss in disk.apply(each):
                count += 1
                point = Point(command, at, loss, f"{each.letter}\t{each.path}")
                if (found := _own(disk, loss)) not in seen or _is_derived(point):
                    points.append(point)
                seen.add(found)
        points = [point for point in (one_of_derived(points) if asked.all else points) if point.at >= asked.after]
        chosen = random.Random(asked.seed).sample(points, min(asked.most or len(points), len(points)))
        states = {(point.at, point.mode) for point in chosen}
        disk, wrong = Disk(self._before), 0
        for at, operation in enumerate(operations):
            for loss in disk.apply(operation):
                if (at, loss) not in states:
                    continue
                shutil.rmtree(self._place)
                self._place.mkdir()
                disk.write(self._place, loss)
                is_done = at == len(operations) - 1 and not (self._place / "data" / "vault" / "erasing").exists()
                state = partial(_state, command, self._secrets)  # complete and shown: nobody gives it again
                got = self._child(self._place, state) if is_done else self._again(command)
                wrong += not self._holds(f"{at + 1}, {loss}, {operation.letter} {operation.path}", got, expected)
        _say(f"{command}: {count} losses of power, {len(states)} of them tried, {wrong} lost")
        return wrong

    @staticmethod
    def _holds(where: str, got: dict[str, Any], expected: dict[str, Any]) -> bool:
        names = [name for name in expected if got.get(name) != expected[name]]
        if names:
            _say(f"LOST at {where}")
            for line in [got["error"]] if "error" in got else [_apart(n, got[n], expected[n]) for n in names]:
                _say(f"  {line}")
        return not names

    def _outcome(self, command: str, at: int) -> dict[str, Any]:
        """Give the command, killed at its operation `at` (0: at none), give it again, and return its rows."""
        shutil.rmtree(self._place, ignore_errors=True)
        if at:
            shutil.copytree(self._before, self._place, symlinks=True)
        elif "error" in (found := self._begin(command)):
            return found
        killed = self._child(self._place, _WORK[command], at=at, plant=self._plant, trace=True)
        if bool(at) != ("killed" in killed) or "error" in killed:
            return {"error": f"it was {'not ' if at else ''}killed: {killed}"}
        return self._again(command) if at else self._child(self._place, partial(_state, command, self._secrets))

    def _begin(self, command: str) -> dict[str, Any]:
        """Copy the world to where a command works on it, and keep it as it is before the command."""
        shutil.copytree(self._base, self._place, symlinks=True)
        file = self._place / "ordermart.toml"
        file.write_text(file.read_text("utf-8").replace(str(self._base), str(self._place)), encoding="utf-8")
        self._secrets = self._child(self._place, _found_bytes)["secrets"]
        found = self._child(self._place, _lose_disk) if command == "restore" else {}
        shutil.rmtree(self._before, ignore_errors=True)
        shutil.copytree(self._place, self._before, symlinks=True)
        return found

    def _again(self, command: str) -> dict[str, Any]:
        again = self._child(self._place, _WORK[command])
        return again if "error" in again else self._child(self._place, partial(_state, command, self._secrets))

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
                    wanted = (self._trace, -1 if at else self._record) if trace else (-1, -1)
                    files = [each if isinstance(each, int) else os.open(each, _NEW, 0o600) for each in wanted]
                    shim, mode = ctypes.CDLL(None), MODES["kill"] if at else 0
                    shim.sweep_arm(str(place).encode(), mode, ctypes.c_long(at), *files)
                found = work(World(place)) or {}
            except BaseException as error:  # noqa: BLE001 -- whatever it is, it is the answer
                found["error"] = "".join(traceback.format_exception(error))
            answer.write_text(json.dumps(found), encoding="utf-8")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        return {"killed": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else json.loads(answer.read_text("utf-8"))


def _apart(name: str, got: Any, expected: Any) -> str:
    if not isinstance(got, list):
        return f"{name}: {got}, not {expected}"
    more, less = ([each for each in one if each not in two] for one, two in ((got, expected), (expected, got)))
    return f"{name}: {len(got)}, not {len(expected)}; only now: {more}; missing: {less}"


def distinct(points: list[Point]) -> list[Point]:
    """Leave out points inside a run of equal operations, and all but one of each kind on files that are derived."""
    neighbours = zip([None, *points], points, [*points[1:], None], strict=False)
    return one_of_derived(
        [at for before, at, after in neighbours if len({e and e.operation for e in (before, at, after)}) > 1]
    )


def one_of_derived(points: list[Point]) -> list[Point]:
    """Leave out all points but one of each kind on files that are derived."""
    derived = [each for each in points if _is_derived(each)]
    return [*(each for each in points if not _is_derived(each)), *sample(derived, 1)]


def _is_derived(point: Point) -> bool:
    return point.operation.partition("\t")[2].startswith(_DERIVED)


def _own(disk: Disk, loss: str) -> bytes:
    """Return a digest of the files that a loss of power leaves, but for derived ones."""
    found = hashlib.blake2b()
    for path, content in disk.left(loss):
        if not path.startswith(_DERIVED):
            found.update(f"{path}\n{len(content)}\n".encode())
            found.update(content)
    return found.digest()


def _first(world: World) -> dict[str, Any]:
    land(world)
    world.publish()
    # The shim sees operations below the swept folder, not a sync of that folder itself: the witness is one level down.
    log = world.place / "elsewhere" / "erasures.jsonl"
    world.configure(f'erasure_log = "{log}"\n[ledger]\nwitness = "elsewhere/witness"\n')
    back_up(world.settings, world.backups)
    return {"modules": sorted(set(sys.modules) - {"__main__"})}


def _settings(world: World) -> Settings:
    """Return the settings: with the new keys once the vault has them."""
    new = world.place / "elsewhere" / "new.json"
    for keys in (world.keys, new) if new.exists() else (world.keys,):
        settings = load_settings(world.file, {**world.environ, "ORDERMART_VAULT__KEY_FILE": str(keys)})
        try:
            with open_vault(settings):
                return settings
        except VaultError:
            continue
    raise VaultError("the vault opens neither with the old keys nor with the new ones")


def _erase(world: World) -> None:
    done = erase(world.settings, PersonRequest("phone", ANN), has_backups=True)
    assert not done.build_error, done.build_error
    forget_request(world.data)


def _lose_disk(world: World) -> None:
    """Erase Ann after the backup, and lose the data folder; the witness is of a ledger that the backup lacks."""
    _erase(world)
    shutil.rmtree(world.place / "elsewhere" / "witness")
    shutil.rmtree(world.data)
    world.data.mkdir()


def _restore(world: World) -> None:
    with run_lock(world.data, RESTORE):
        try:
            restore(world.settings, world.backups)
        except BackupError as error:
            if "is not empty" not in str(error):
                raise
            build_and_record(world.settings)  # every file was restored: so says the command
            publish(world.settings)


def _rotate(world: World) -> None:
    rotate_keys(world.settings, world.place / "elsewhere" / "new.json")


_WORK = {"erase": _erase, "rotate": _rotate, "restore": _restore}


def _found_bytes(world: World) -> dict[str, Any]:
    """Return what an erasure must destroy, and a rotation replace: Ann's key and lookup hashes, and all hashes."""
    with closing(sqlite3.connect(world.data / "vault" / "vault.sqlite")) as db:
        hashes = [each.hex() for (each,) in db.execute("select hash from lookups")]
    with open_vault(world.settings) as vault:
        (n,) = {each.customer for each in vault.erasing.of_contact("phone", ANN).versions}
        (key,) = vault.erasing._db.execute("select customer_key from customers where n = ?", (n,)).fetchone()
        own = [each.hex() for (each,) in vault.erasing._db.execute("select hash from lookups where customer = ?", (n,))]
    own = [key.encode().hex(), *own]
    return {"secrets": {"erase": own, "rotate": hashes, "restore": own}}


def _state(command: str, secrets: dict[str, list[str]], world: World) -> dict[str, Any]:
    settings = _settings(world)
    content = b"".join(path.read_bytes() for path in world.data.rglob("*") if path.is_file())
    with open_vault(settings) as vault:
        orders: dict[int, Any] = {}
        for order_id in (1, 2, 3):
            try:
                orders[order_id] = vault.decrypt("orders", order_id)
            except VaultError as error:
                orders[order_id] = str(error)
        found = {who: vault.erasing.of_contact("phone", who).order_ids for who in (ANN, BOB)}
        refused = [body.asked for ref in vault.refused.refs("orders") if (body := vault.refused.open(ref))]
    rows = [pq.read_table(file.path).to_pylist() for file in raw_files(world.data, "orders").documents]
    seen = [pq.read_table(file.path).to_pylist() for file in raw_files(world.data, "orders").observations]
    names = {str(path.relative_to(world.place)) for path in world.place.rglob("*")}
    ledger, log = ledger_of(world.data), world.place / "elsewhere" / "erasures.jsonl"
    return json.loads(json.dumps({
        "orders": orders, "found": found, "refused": sorted(refused, key=str),
        "documents": sorted([row["id"], row["document"], bool(row["is_erased"])] for part in rows for row in part),
        "keys": sorted([row["load_id"], row["seq"], row["customer_key"]] for part in seen for row in part),
        "entries": [[each.act, {k: v for k, v in each.body.items() if k not in _TIMES}] for each in ledger.entries()],
        "is intact": verify(ledger).entries, "heads": len(checked_heads(settings, ledger)),
        "rows": world.rows("select order_id, total_price::varchar, customer_key is null from mart.orders order by all"),
        "noted": len(applied_erasures(world.data)),
        "log": len(log.read_bytes().splitlines()) if log.exists() else 0,
        "rotations": len(list(ledger.entries(ROTATED))),
        "left": [each for each in secrets[command] if bytes.fromhex(each) in content],
        "files": sorted({_VARIES.sub("#", name) for name in names - _DRAFTS if not name.endswith(".lock")}),
    }))  # fmt: skip


def _plant() -> None:
    """Note an erasure before it is applied, and rotate without a transaction: kills in between must show it."""
    real = Erasing.erase

    def too_early(self: Erasing, *arguments: Any) -> Any:
        data = self._folder.parent
        note_erasure(data, erasures(ledger_of(data))[-1].sha256)
        return real(self, *arguments)

    Erasing.erase = too_early  # type: ignore[method-assign]
    privacy.note_erasure = lambda *_: None
    vault_keys.transaction = lambda _: nullcontext()  # type: ignore[assignment,misc]


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
