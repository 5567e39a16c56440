"""Write into ARCHITECTURE.md when an id is asked for again, for each reason: `python docs/reasons.py`.

Reasons come from the code that names them, times and rates from the constants and settings that decide.
"""

from __future__ import annotations

import ast
from datetime import timedelta
from pathlib import Path

from pipelines.inbox.worklist import (
    FAILED_FOR,
    FAILED_LATER,
    FAILED_RETRIES,
    NOT_FOUND_RETRIES,
    REJECTED_RETRIES,
    UNFETCHED_FOR,
)
from pipelines.partner.exchange import RunStopped
from pipelines.settings import load_settings

HERE = Path(__file__).parent
BEGIN, END = "<!-- by docs/reasons.py -->\n", "<!-- end -->\n"
_CODES = {"RequestError": 0, "BodyError": 0, "unusable": 1, "InvalidDocumentError": 0}  # where each names its reason


def reasons(folder: Path, *names: str) -> list[str]:
    """Return the reasons that the code of a package gives, in calls of these names and in tables of faults."""
    found = set()
    for file in sorted(folder.glob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        constants = {
            name.id: value.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for name, value in zip(_each(node.targets[0]), _each(node.value), strict=False)
            if isinstance(name, ast.Name) and isinstance(value, ast.Constant)
        }
        for node in ast.walk(tree):
            given: list[ast.expr] = []
            called = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and called in names:
                given = [each.value for each in node.keywords if each.arg == "code"]
                given += node.args[_CODES[called] : _CODES[called] + 1]
            elif file.name == "exchange.py" and isinstance(node, ast.Tuple) and len(node.elts) == 3:
                given = [node.elts[1]]  # of an exception
            elif file.name == "exchange.py" and isinstance(node, ast.Assign | ast.Return):
                given = node.value.elts[:1] if isinstance(node.value, ast.Tuple) else []  # code, reason = …
            for each in given:
                value = each.value if isinstance(each, ast.Constant) else constants.get(getattr(each, "id", ""))
                if isinstance(value, str) and value.isidentifier():
                    found.add(value)
    return sorted(found)


def _each(found: ast.expr) -> list[ast.expr]:
    return found.elts if isinstance(found, ast.Tuple) else [found]


def table() -> str:
    """Return the table: for each reason and rate what becomes of ids in one night, in three, and for ever."""
    packages = HERE.parent / "pipelines"
    planner = load_settings(HERE.parent / "ordermart.toml", environ={}).planner
    failed = reasons(packages / "partner", "RequestError", "BodyError", "unusable")
    refused = reasons(packages / "landing", "InvalidDocumentError")
    stopped = sorted(each.__name__ for each in RunStopped.__subclasses__())
    (_, first), (until, nightly) = FAILED_RETRIES
    later = _hours(FAILED_LATER)
    times = f"due after {_hours(first)}, then every {_hours(nightly)} for {_hours(until)}, then every {later}"
    again = f"{times}: three nights, then every second"
    given_up = f"after {FAILED_FOR.days} days a dead letter: `ordermart retry`, or `--forget`"
    late = f"Not good after {_hours(UNFETCHED_FOR)}, the third night; alarm `incomplete`"
    news = "Good; alarm `new_failures`"
    together = "Not good; alarm `incomplete`"
    unbelieved = f"or 404 of more than {planner.max_not_found_rate:.0%} of known ids, or refusals of all"
    rejected = ", ".join(f"{wait / timedelta(hours=1):g}" for wait in REJECTED_RETRIES)
    minutes = ", ".join(f"{wait / timedelta(minutes=1):g}" for wait in NOT_FOUND_RETRIES)
    few, many = f"up to {planner.max_failed_rate:.0%}, or four ids", f"more than {planner.max_failed_rate:.0%}"
    apart = f"{many}, or all of two and more; 404 also of ids never held"
    rows = [
        ("reason", "rate", "one night", "three nights", "for ever"),
        ("---",) * 5,
        (f"no usable response: {_listed(failed)}, `status_NNN`", few, f"{again}. {news}", late, given_up),
        (
            f"a document that is wrong by itself: {_listed(refused)}", few,
            f"due after {rejected} h, the last repeated. {news}", "Good: it is quarantined",
            f"after {planner.max_rejected_attempts} tries a dead letter: `ordermart retry`. Good",
        ),
        (
            "404", few, f"due after {minutes} minutes. Good", "given up after the fourth",
            "when something names it again; known orders by the planner",
        ),
        ("any of these", apart, f"all as no usable response. {together}", "the same", "the same"),
        (
            f"the service stops the run: {_listed(stopped)}; {unbelieved}", "all",
            "every id stays due, for the next run. Not good; alarm `outage`, `run_failed` or `incomplete`", "the same",
            "the same; alarm `no_good_night` after [notify] max_age_hours",
        ),
    ]  # fmt: skip
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _hours(wait: timedelta) -> str:
    return f"{wait / timedelta(hours=1):g} h"


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def written(text: str) -> str:
    """Return the document with the table renewed."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    file = HERE / "ARCHITECTURE.md"
    file.write_text(written(file.read_text("utf-8")), "utf-8")
