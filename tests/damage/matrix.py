"""Damage a file, run a command, and judge what it said: named, mended, harmless, or none of these."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, NamedTuple

from tests.damage.world import DAMAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.damage.world import World

# Each command with its arguments; the first four must name or mend every damage, the others must end in order.
COMMANDS = {
    "night": (("run",),),
    "backup": (("backup", "{folder}/backups"), ("restore", "--check", "{folder}/backups")),
    "doctor": (("doctor",),),
    "inventory": (("inventory",),),
    "status": (("status",),),
    "verify": (("verify",),),
    "ledger": (("ledger", "verify"),),
}
NAMING = ("night", "backup", "doctor", "inventory")
# What a night makes again of other files: commands that only look say that they did not look there.
DERIVED = ("raw/index/", "warehouse/warehouse.duckdb", "published/", "dagster/", "sandbox/", "warehouse/charts")
WORDS = {  # what a message may call a file instead of its path
    "warehouse/warehouse.duckdb": ("warehouse file",),
    "inbox/worklist.sqlite": ("work list",),
    "ledger/ledger.jsonl": ("ledger",),
    "vault/vault.sqlite": ("vault",),
    "dagster/": ("Dagster's",),
}
GOOD = ("named", "mended", "harmless", "derived", "in order")


class Cell(NamedTuple):
    """One file, one damage, one command."""

    file: str
    damage: str
    command: str
    at: float = 0.5


def cells(world: World, *, commands: tuple[str, ...] = tuple(COMMANDS), seed: int = 1) -> list[Cell]:
    """Return every cell of the matrix; each flip at a place drawn by the seed.

    A release's Parquet files are alike: one of each schema stands for the others.
    """
    chance = random.Random(seed)
    alike = {re.sub(r"(/parquet/\w+/).*", r"\1", file): file for file in world.files()}
    return [
        Cell(file, damage, command, at)
        for file in alike.values()
        for damage in DAMAGES
        for at in (chance.random(),)
        for command in commands
    ]


def sample(world: World, seed: int, most: int) -> list[Cell]:
    """Return every file once, with a damage and a command drawn by the seed, and more cells up to so many."""
    every = cells(world, commands=NAMING, seed=seed)
    chance = random.Random(seed)
    chance.shuffle(every)
    first = {cell.file: cell for cell in every}
    return [*first.values(), *(cell for cell in every if cell is not first[cell.file])][: max(most, len(first))]


def judge(world: World, cell: Cell, expected: list[tuple[object, ...]]) -> tuple[str, str]:
    """Return the verdict on a cell, and what was said; "" if the damage cannot be done to the file."""
    world.reset()
    if not world.damage(cell.file, cell.damage, cell.at):
        return "", ""
    is_same = world.is_same(cell.file)
    codes, said = [], ""
    for arguments in COMMANDS[cell.command]:
        code, text = world.command(*(each.format(folder=world.folder) for each in arguments))
        codes.append(code)
        said += text
    if "Traceback" in said or any(code not in range(5) for code in codes):
        return "TRACEBACK", said
    if cell.command not in NAMING:
        return "in order", said
    if is_named(cell.file, said):
        return "named", said
    is_derived = cell.file.startswith(DERIVED)
    if is_derived and cell.command == "night":
        return ("mended" if codes[0] in (0, 3) and world.orders() == expected else "WRONG"), said
    return ("derived" if is_derived else "harmless" if is_same else "SILENT"), said


def is_named(file: str, said: str) -> bool:
    """Tell whether a finding names the file, or says by its usual name that it is damaged."""
    words = [word for start, named in WORDS.items() if file.startswith(start) for word in named]
    findings = [line for line in said.splitlines() if not line.startswith("ok ")]
    return any(word in line for line in findings for word in (file, file.rpartition("/")[2]) if word) or any(
        word in line and any(sign in line for sign in ("damaged", "missing", "older", "rebuilt", "not the", "removed"))
        for line in findings
        for word in words
    )


def judged(world: World, chosen: list[Cell]) -> Iterator[tuple[Cell, str, str]]:
    """Yield each cell that can be with its verdict, and what was said."""
    world.reset()
    expected = world.orders()
    for cell in chosen:
        verdict, said = judge(world, cell, expected)
        if verdict:
            yield cell, verdict, said
