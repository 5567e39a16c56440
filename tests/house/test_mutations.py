"""The mutation tool changes one place at a time, leaves prose alone, and tells a killed mutant from a survivor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.mutations.__main__ import EQUIVALENT, Runners, killer
from tests.mutations.nearest import nearest_tests
from tests.mutations.places import Mutant, mutants
from tests.mutations.runner import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = '"""Says a < b and c."""\nfrom a import b  # not c\n\ndef f(a, b):\n    return a < b and not a\n'
SQL = "-- a < b\nselect min(a) as a from t\nleft join u on t.a = u.a\n    and t.b = u.b\nwhere a < 3\ngroup by a\n"


@pytest.mark.parametrize(
    ("name", "text", "places"),
    [
        ("a.py", PYTHON, {(5, "<", "<="), (5, "and", "or"), (5, "not", "")}),
        (
            "a.sql",
            SQL,
            {
                (2, "min(", "max("),
                (3, "left join", "inner join"),
                (4, "and t.b = u.b", ""),
                (5, "<", "<="),
                (5, "where a < 3", ""),
            },
        ),
    ],
)
def test_mutants_of_a_file(name: str, text: str, places: set[tuple[int, str, str]], tmp_path: Path) -> None:
    """Each place is one mutant; a docstring, a comment and an import are none."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = mutants(tmp_path / name, tmp_path)
    assert {(each.line, each.old, each.new) for each in found} == places
    assert len({each.text for each in found}) == len(found)


def test_text_that_cannot_be_parsed_is_no_mutant(tmp_path: Path) -> None:
    """What any test kills says nothing of the tests."""
    file = tmp_path / "a.sql"
    file.write_text("select 1\nwhere (a\n    or b\n    and c\n    and d)\n", encoding="utf-8")
    assert {each.old for each in mutants(file, tmp_path)} == {"or b", "and c", "and d"}


def test_tests_nearest_to_a_table_and_a_module() -> None:
    """The test of its own name comes first."""
    assert nearest_tests("sql/audit/coverage.sql", ROOT)[0] == "tests/sql/test_coverage.py"
    assert nearest_tests("pipelines/warehouse/inputs/zones.py", ROOT)[0] == "tests/warehouse/test_zones.py"


@pytest.mark.long
def test_killed_mutant_and_survivor(tmp_path: Path) -> None:
    """A mutant that a test sees is killed, one that no test sees survives; a test that fails anyway kills none."""
    (tmp_path / "sql" / "core").mkdir(parents=True)
    (tmp_path / "tests" / "sql").mkdir(parents=True)
    file = tmp_path / "sql" / "core" / "a.sql"
    file.write_text("one", encoding="utf-8")
    check = f"def test_it():\n    assert open({str(file)!r}).read() != 'two'\n"
    (tmp_path / "tests" / "sql" / "test_a.py").write_text(check, encoding="utf-8")
    (tmp_path / "tests" / "sql" / "test_b.py").write_text("'core.a '\ndef test_it():\n    assert False\n")
    runners = Runners(tmp_path, has_rows=False)
    assert killer(Mutant("sql/core/a.sql", 1, "one", "two", "two", is_guard=False), tmp_path, runners)
    assert not killer(Mutant("sql/core/a.sql", 1, "one", "three", "three", is_guard=False), tmp_path, runners)
    runners.close()
    assert file.read_text("utf-8") == "one"


def test_tests_nearest_to_a_check_and_a_tie() -> None:
    """A check and a tie are named by their table already: the tests that plant their faults are nearest."""
    assert nearest_tests("sql/checks/audit.loads__add_up.sql", ROOT)
    tie = "sql/ties/mart.orders__number_the_orders_of_customers.sql"
    assert "tests/warehouse/test_ties.py" in nearest_tests(tie, ROOT)


def test_every_equivalent_mutant_is_of_a_line_and_names_what_was_tried() -> None:
    """One of a line that has changed proves nothing, nor does a reason alone."""
    for block in EQUIVALENT.read_text(encoding="utf-8").strip().split("\n\n")[1:]:
        file, line, change, *said = block.splitlines()
        assert line in {each.strip() for each in (ROOT / file).read_text(encoding="utf-8").splitlines()}, block
        assert change.split("' -> ")[0].removeprefix("'") in line, block
        assert [each[:2] for each in said] == ["# "] * len(said), block
        assert any(each.startswith("# Tried: ") for each in said), block
