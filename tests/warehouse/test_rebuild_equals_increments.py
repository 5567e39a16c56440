"""Promise 3: core, mart and audit are the same row for row after any increments as after one rebuild from raw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.histories import Difference, history, main, play, shrink

if TYPE_CHECKING:
    from pathlib import Path

# One seed a test, so that workers share them. The shortest history runs by default; two more, in which all
# happens that can happen, with all tests.
SEEDS = sorted(range(40), key=lambda seed: len(history(seed)))
FEW = SEEDS[:1]
MANY = [25, 36]
REST = sorted({*SEEDS} - {*FEW, *MANY})


@pytest.mark.parametrize("seed", FEW)
@pytest.mark.promise(3)
def test_increments_of_a_history_equal_a_rebuild(seed: int, tmp_path: Path) -> None:
    """Increments, in any order and partition, give what a rebuild gives."""
    assert play(history(seed), tmp_path) > 0


@pytest.mark.long
@pytest.mark.parametrize("seed", MANY)
def test_increments_of_many_histories_equal_rebuilds(seed: int, tmp_path: Path) -> None:
    """The same, for more."""
    assert play(history(seed), tmp_path) > 0


@pytest.mark.long
@pytest.mark.parametrize("seed", REST)
def test_increments_of_all_histories_equal_rebuilds(seed: int, tmp_path: Path) -> None:
    """The same, for long."""
    assert play(history(seed), tmp_path) > 0


def test_history_follows_from_its_seed() -> None:
    """The same seed gives the same history, another one another."""
    assert history(7) == history(7)
    assert history(7) != history(8)


def test_seeds_cover_what_can_happen() -> None:
    """Among the histories of the slow lane are all kinds of steps, verdicts and sources that there are."""
    steps = [step for seed in (*FEW, *MANY) for step in history(seed)]
    loads = [step for step in steps if step["do"] == "land"]
    verdicts = [verdict for load in loads for verdict in load["verdicts"]]
    assert {step["do"] for step in steps} == {"land", "build", "settings", "totals", "statement", "close", "reopen"}
    assert {load["kind"] for load in loads} == {"orders", "menus", "stores"}
    assert {load["source"] for load in loads} == {"live", "archive"}
    assert {verdict["verdict"] for verdict in verdicts} == {"accepted", "missing", "quarantined", "failed"}
    assert any(verdict["at"] is None for verdict in verdicts)


@pytest.mark.slow
def test_fault_in_the_warehouse_is_a_difference(tmp_path: Path) -> None:
    """A value that was changed behind the build's back is found, and its table named."""
    first = history(0)[0]
    steps = [first, {"do": "build"}, {"do": "alter", "sql": "update core.orders set platform = 'planted'"}]
    with pytest.raises(Difference, match=r"core\.orders"):
        play(steps, tmp_path)


def test_failing_history_shrinks_to_what_it_needs() -> None:
    """What remains of a failing history is the one verdict, and the one build, that it fails by."""

    def fails(steps: list[dict[str, Any]]) -> bool:
        lands = [verdict["id"] for step in steps if step["do"] == "land" for verdict in step["verdicts"]]
        return 5 in lands and any(step["do"] == "build" for step in steps)

    small = shrink(history(0), fails)
    assert [step["do"] for step in small] == ["land", "build"]
    assert [verdict["id"] for verdict in small[0]["verdicts"]] == [5]


@pytest.mark.long
def test_soak_runs_a_seed_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """The soak of one seed says how many histories it ran, and ends with 0 where none differs."""
    assert main(["--seed", "3", "--minutes", "0"]) == 0
    assert capsys.readouterr().out.startswith("1 histories with ")
