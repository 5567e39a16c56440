"""The work list: ids due, why, and their fate."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pipelines.inbox.store import Committer, Notification, WebhookDelivery, connect, inbox_path, transaction
from pipelines.inbox.worklist import GAP_PROBE, WorkList
from pipelines.inventory import WORK_LIST, changed_parts, damaged_parts, read_inventory, record_stores

if TYPE_CHECKING:
    from pathlib import Path


def test_add_merges_reasons(work: WorkList) -> None:
    """An id named twice is one entry with both reasons."""
    work.add("orders", [7, 7], "range")
    work.add("orders", [7], "webhook")
    entry = work.entry("orders", 7)
    assert entry is not None
    assert entry.why == {"range", "webhook"}
    assert work.due("orders") == [7]


def test_kinds_are_apart(work: WorkList) -> None:
    """A menu and an order of the same id are two entries."""
    work.add("menus", [7], "store record")
    assert work.due("orders") == []
    assert work.due("menus") == [7]


def test_longest_due_first(work: WorkList, clock: Any) -> None:
    """What has been due for longest comes first, then the lower id."""
    work.add("orders", [9], "range")
    clock.forward(seconds=1)
    work.add("orders", [5, 3], "range")
    assert work.due("orders") == [9, 3, 5]
    assert work.due("orders", limit=2) == [9, 3]


def test_not_due_before_its_time(work: WorkList, clock: Any) -> None:
    """An entry for later is not due now, and an earlier wish wins."""
    work.add("orders", [1, 2], "planner", due_at=clock() + timedelta(hours=1))
    work.add("orders", [2], "webhook")
    assert work.due("orders") == [2]
    clock.forward(hours=1)
    assert work.due("orders") == [2, 1]


def test_done_is_done(work: WorkList) -> None:
    """What was fetched is no longer due, and knows when it was tried."""
    work.add("orders", [1, 2], "range")
    work.started("orders", [1, 2])
    work.done("orders", [1])
    assert work.due("orders") == [2]
    entry = work.entry("orders", 1)
    assert entry is not None
    assert (entry.state, entry.attempts, entry.last_attempt_at) == ("done", 1, entry.finished_at)


def test_hint_during_a_fetch_leads_to_another(work: WorkList, clock: Any) -> None:
    """A notification that arrives while its fetch is in flight is not covered by it, even in the same microsecond.

    However many there are: the next fetch is due a minute after this one began.
    """
    work.add("orders", [1], "webhook")
    work.started("orders", [1])
    for _ in range(9):
        work.add("orders", [1], "webhook")
    work.done("orders", [1])
    assert work.due("orders") == []
    clock.forward(minutes=1)
    assert work.due("orders") == [1]
    work.started("orders", [1])
    work.done("orders", [1])
    assert work.due("orders") == []


@pytest.mark.parametrize("outcome", ["missing", "failed"])
def test_hint_during_a_fetch_outlives_its_failure(work: WorkList, outcome: str, clock: Any) -> None:
    """A notification during a fetch that fails or finds nothing is due a minute after it began."""
    work.add("orders", [1], "webhook")
    work.started("orders", [1])
    work.add("orders", [1], "webhook")
    if outcome == "missing":
        work.not_found("orders", [1])
    else:
        work.failed("orders", [1], "timeout")
    clock.forward(minutes=1)
    assert work.due("orders") == [1]
    assert work.dead_letters() == []


def test_without_started_the_time_decides(work: WorkList, clock: Any) -> None:
    """`done` alone uses its time as the start of the fetch: a later notification stays due."""
    work.add("orders", [1, 2], "webhook")
    began = clock.forward(seconds=1)
    clock.forward(seconds=1)
    work.add("orders", [2], "webhook")
    work.done("orders", [1, 2], began)
    assert work.due("orders") == [2]


def test_killed_fetch_is_due_again(work: WorkList, inbox_path: Path, clock: Any) -> None:
    """A fetch that was begun and never reported is due at the next opening of the list."""
    work.add("orders", [1], "range")
    work.started("orders", [1])
    with WorkList(inbox_path, clock=clock) as after_the_kill:
        assert after_the_kill.due("orders") == [1]


def test_missing_comes_back_three_times(work: WorkList, clock: Any) -> None:
    """A 404 is due again after 1, 10 and 60 minutes, then given up until a new notification."""
    work.add("orders", [1], "webhook")
    for minutes in (1, 10, 60):
        work.started("orders", [1])
        work.not_found("orders", [1])
        clock.forward(minutes=minutes, microseconds=-1)
        assert work.due("orders") == []
        clock.forward(microseconds=1)
        assert work.due("orders") == [1]
    work.started("orders", [1])
    work.not_found("orders", [1])
    clock.forward(days=30)
    assert work.due("orders") == []
    assert work.counts() == {"orders": {"given_up": 1}}
    work.add("orders", [1], "webhook")
    assert work.due("orders") == [1]
    entry = work.entry("orders", 1)
    assert entry is not None
    assert entry.misses == 0


def test_notified_while_it_is_fetched_starts_counting_again(work: WorkList, clock: Any) -> None:
    """A 404 of a fetch that began before the notification says nothing of it: three more attempts remain."""
    work.add("orders", [1], "webhook")
    for minutes in (1, 10):
        work.started("orders", [1])
        work.not_found("orders", [1])
        clock.forward(minutes=minutes)
    work.started("orders", [1])
    clock.forward(seconds=1)
    work.add("orders", [1], "webhook")
    work.not_found("orders", [1])
    entry = work.entry("orders", 1)
    clock.forward(minutes=1)
    assert entry is not None
    assert (entry.misses, work.due("orders")) == (0, [1])


def test_a_probed_gap_is_asked_for_once(work: WorkList) -> None:
    """A 404 of an id that only the gap probe named is remembered and not requested again; a notified one is."""
    work.add("orders", [1, 2], GAP_PROBE)
    work.add("orders", [2], "webhook")
    work.not_found("orders", [1, 2])
    assert work.ids_in("orders", "given_up") == [1]
    assert work.ids_in("orders", "waiting") == [2]


def test_ids_by_state_and_time(work: WorkList, clock: Any) -> None:
    """Ids are found by their state, and by when they came to it."""
    work.add("orders", [1, 2, 3], "sample")
    work.done("orders", [1])
    later = clock.forward(hours=1)
    work.done("orders", [2])
    assert work.ids_in("orders", "done") == [1, 2]
    assert work.ids_in("orders", "done", since=later) == [2]


def test_dead_letter_and_retry(work: WorkList, clock: Any) -> None:
    """A failed id is a dead letter with its reason; retry puts it back and says why."""
    work.add("orders", [1, 2], "range")
    work.add("menus", [3], "store record")
    work.rejected("orders", [1], "truncated body", 1)
    work.rejected("menus", [3], "timeout", 1)
    assert [(x.kind, x.id, x.reason) for x in work.dead_letters()] == [
        ("menus", 3, "timeout"),
        ("orders", 1, "truncated body"),
    ]
    assert work.due("orders") == [2]
    clock.forward(minutes=1)
    assert [letter.id for letter in work.retry("orders")] == [1]
    assert work.due("orders") == [2, 1]
    assert [x.kind for x in work.dead_letters()] == ["menus"]
    entry = work.entry("orders", 1)
    assert entry is not None
    assert entry.why == {"retry"}


def test_the_same_list_again_goes_on(work: WorkList, clock: Any) -> None:
    """A list given again after a kill leaves alone what was fetched since its first time."""
    began = clock()
    work.add("orders", [1, 2, 3], "order-ids file")
    clock.forward(seconds=1)
    work.done("orders", [1, 2])
    work.add("orders", [1, 2, 3, 4], "order-ids file", unless_done_since=began)
    assert work.due("orders") == [3, 4]
    work.add("orders", [1], "order-ids file")
    assert work.due("orders") == [3, 1, 4]


def test_only_what_was_done_is_forgotten(work: WorkList, clock: Any) -> None:
    """Pruning forgets old fetches, never what waits, failed or was given up."""
    work.add("orders", [1, 2, 3, 4], "range")
    work.done("orders", [1])
    work.rejected("orders", [2], "no_id", 1)
    for _ in range(4):
        work.not_found("orders", [4], clock.forward(hours=2))
    assert work.prune(clock.forward(days=1)) == 1
    assert work.counts() == {"orders": {"dead": 1, "given_up": 1, "waiting": 1}}


def test_results_of_ids_never_added_change_nothing(work: WorkList) -> None:
    """A result for an id that is not on the list makes no entry."""
    work.done("orders", [1])
    work.not_found("orders", [2])
    work.failed("orders", [3], "timeout")
    assert work.counts() == {}


@pytest.mark.parametrize("wrong", [[2**63], [-(2**63) - 1], [True], ["7"], [1.0], range(2**63 - 1, 2**63 + 1)])
def test_only_64_bit_integers(work: WorkList, wrong: Any) -> None:
    """Anything but a 64-bit integer is rejected before anything is stored."""
    with pytest.raises(ValueError, match="64-bit"):
        work.add("orders", wrong, "range")
    assert work.counts() == {}


def test_extreme_ids(work: WorkList) -> None:
    """The smallest and the largest 64-bit integers are ids like others."""
    work.add("orders", [-(2**63), 2**63 - 1], "range")
    assert work.due("orders") == [-(2**63), 2**63 - 1]


def test_reasons_are_categories(work: WorkList) -> None:
    """More than 62 reasons are rejected: a reason is a category, not free text."""
    for n in range(63):
        work.add("orders", [1], f"reason {n}")
    with pytest.raises(ValueError, match="category"):
        work.add("orders", [2], "reason 64")
    assert work.due("orders") == [1]


@pytest.mark.parametrize("layout", [2, 99])
def test_connect_rejects_an_unknown_layout(inbox_path: Path, layout: int) -> None:
    """A file of a later layout, or of one that no release wrote, is not opened."""
    WorkList(inbox_path).close()
    connection = sqlite3.connect(inbox_path)
    connection.execute(f"pragma user_version = {layout}")
    connection.close()
    with pytest.raises(sqlite3.DatabaseError, match=f"layout {layout}"):
        WorkList(inbox_path)


@pytest.mark.parametrize("entries", [1_000, 100_000])
def test_one_entry_costs_the_same_on_a_long_list(work: WorkList, entries: int) -> None:
    """Beginning and finishing one entry takes SQLite a few steps, however many wait: the list is never walked."""
    assert work.add("orders", range(1, entries + 1), "range") == entries
    assert len(work.due("orders")) == entries
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 10
        return 0

    work._connection.set_progress_handler(count, 10)
    for id_ in range(1, 21):
        work.started("orders", [id_])
        work.done("orders", [id_])
    assert 0 < steps < 20 * 1_000


def _add_some(path: Path, first: int) -> None:
    with WorkList(path) as work:
        for id_ in range(first, first + 200):
            work.add("orders", [id_, 0], "webhook")


@pytest.mark.slow
def test_processes_share_the_list(inbox_path: Path) -> None:
    """Four processes that write at once lose nothing."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_add_some, args=(inbox_path, 1 + 200 * n)) for n in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    with WorkList(inbox_path) as work:
        assert sorted(work.due("orders")) == list(range(801))


def test_writers_take_turns(inbox_path: Path) -> None:
    """A writer that never rests lets another one in between any two of its transactions, and no later."""
    served: list[str] = []
    ended = threading.Event()

    def restless() -> None:
        with closing(connect(inbox_path)) as connection:
            while not ended.is_set():
                with transaction(connection):
                    served.append("restless")

    connect(inbox_path).close()
    thread = threading.Thread(target=restless)
    thread.start()
    waits = []
    with closing(connect(inbox_path)) as connection:
        for _ in range(50):
            before = len(served)
            with transaction(connection):
                waits.append(len(served) - before)
    ended.set()
    thread.join()
    assert sorted(waits)[40] <= 3


STEPS = st.lists(
    st.tuples(st.sampled_from(["notify", "start", "done", "not_found", "failed", "wait"]), st.integers(1, 3)),
    max_size=25,
)


@given(steps=STEPS)
@example(steps=[("notify", 1), ("start", 1), ("notify", 1), ("done", 1)])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_hint_is_ever_dropped(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]) -> None:
    """Whatever happens in between, an id is due within a minute if a notification came after its last fetch began."""
    now = datetime(2026, 11, 20, tzinfo=UTC)
    uncovered: dict[int, bool] = {}
    under_way: set[int] = set()
    with WorkList(tmp_path_factory.mktemp("inbox") / "w.sqlite", clock=lambda: now) as work:
        for step, id_ in steps:
            if step == "notify":
                work.add("orders", [id_], "webhook")
                uncovered[id_] = True
            elif step == "wait":
                now += timedelta(minutes=id_)
            elif step == "start" and id_ in work.due("orders"):
                work.started("orders", [id_])
                under_way.add(id_)
                uncovered[id_] = False
            elif id_ in under_way and step in {"done", "not_found", "failed"}:
                under_way.discard(id_)
                if step == "failed":
                    work.failed("orders", [id_], "timeout")
                else:
                    getattr(work, step)("orders", [id_])
            due = work.due("orders", now + timedelta(minutes=1))  # repeated webhooks make one request a minute
            assert {one for one, open_ in uncovered.items() if open_} <= set(due)


def test_what_failed_is_asked_for_in_the_next_night_and_for_thirty_days(work: WorkList, clock: Any) -> None:
    """A night at the same hour asks in the first three nights, then in every second one; after 30 days a person does.

    It is unfetched for too long from the third night on; a document ends that, and the count of days.
    """
    work.add("orders", [7], "range")
    began, asked, late = clock(), [], []
    for night in range(34):
        clock.now = now = began + timedelta(days=night)
        if work.due("orders") == [7]:
            asked.append(night)
            work.started("orders", [7])
            work.failed("orders", [7], "the service failed (500)", now + timedelta(minutes=20))
        if work.unfetched("orders"):
            late.append(night)
    assert asked == [0, 1, 2, 3, *range(5, 32, 2)]
    assert late == list(range(2, 34))
    assert [letter.id for letter in work.dead_letters()] == [7]
    work.retry()
    work.done("orders", [7])
    assert (work.unfetched("orders"), work.dead_letters()) == ([], [])


def test_what_failed_in_an_older_version_is_asked_for_again(inbox_path: Path) -> None:
    """A work list whose failures wait for a person makes them due; what was rejected too often stays."""
    with WorkList(inbox_path) as work:
        work.add("orders", [1, 2], "range")
        work.rejected("orders", [1], "no_id", 1)
    with closing(sqlite3.connect(inbox_path)) as old, old:
        old.execute(
            "update entries set state = 'dead', due_at = null, finished_at = 5, reason = 'timeout' where id = 2"
        )
        old.execute("alter table entries drop column failing_since")
        old.execute("pragma user_version = 5")
    with WorkList(inbox_path) as work:
        assert (work.due("orders"), [letter.id for letter in work.dead_letters()]) == ([2], [1])


def test_a_rejected_response_is_requested_again_for_days(work: WorkList, clock: Any) -> None:
    """An id whose response was rejected waits 1, 6, 20, 44, 44 hours; after the last attempt it is a dead letter."""
    work.add("orders", [7, 8], "range")
    waited = []
    for attempt in range(6):
        assert work.due("orders") == [7, 8]
        work.started("orders", [7, 8])
        work.rejected("orders", [7, 8], "no_id", 6)
        entry = work.entry("orders", 7)
        assert entry is not None
        assert (entry.reason, entry.rejections) == ("no_id", attempt + 1)
        if entry.due_at is None:
            break
        assert work.rejected_counts() == {"orders": 2}
        waited.append((entry.due_at - clock.now) / timedelta(hours=1))
        clock.now = entry.due_at
    assert waited == [1, 6, 20, 44, 44]
    assert [letter.id for letter in work.dead_letters()] == [7, 8]
    assert work.rejected_counts() == {}


def test_rejections_are_counted_until_one_is_accepted_or_retried(work: WorkList) -> None:
    """Repeated requests do not start the count again; an accepted response and `retry` do."""
    for _ in range(3):
        work.add("orders", [7], "planner")
        work.started("orders", [7])
        work.rejected("orders", [7], "no_id", 3)
    assert [letter.rejections for letter in work.dead_letters()] == [3]
    work.retry()
    entry = work.entry("orders", 7)
    assert entry is not None
    assert (entry.rejections, work.due("orders")) == (0, [7])
    work.rejected("orders", [7], "no_id", 3)
    work.add("orders", [7], "planner")
    work.done("orders", [7])
    entry = work.entry("orders", 7)
    assert entry is not None
    assert (entry.state, entry.rejections) == ("done", 0)


def test_a_404_is_unexpected_once(work: WorkList) -> None:
    """A first 404 of a requested id is news, the second of one that only a webhook named, none of the gap probe."""
    work.add("orders", [1], "range")
    work.add("orders", [2], "webhook")
    work.add("orders", [3], "gap probe")
    assert work.representative_due_ids("orders") == {1}
    work.not_found("orders", [1, 2])
    later = work.entry("orders", 2)
    assert later is not None
    assert work.representative_due_ids("orders", later.due_at) == {2}


def test_negative_ids_of_older_folders_are_recorded(tmp_path: Path) -> None:
    """An id that is refused today is a row like others to the inventory: its part is noted, recorded and compared."""
    path = inbox_path(tmp_path)
    with WorkList(path) as work:
        work.add("orders", [7], "range")
    record_stores(tmp_path)
    before = read_inventory(tmp_path).stores[WORK_LIST]
    with WorkList(path) as work:
        work.add("orders", [-5, -(2**63)], "webhook")
    with closing(connect(path)) as db:
        assert {f"entries/orders/-{part}" for part in (1, 2**51)} <= changed_parts(db, WORK_LIST, before)
    record_stores(tmp_path)
    after = read_inventory(tmp_path).stores[WORK_LIST]
    assert after.parts["entries/orders/-1"][0] == 1
    assert list(damaged_parts(path, WORK_LIST, after, after.parts)) == []


def test_parts_that_get_deliveries_are_changed(tmp_path: Path) -> None:
    """The receiver's rows have no trigger: a group that goes on into the next part changes both."""
    path = inbox_path(tmp_path)
    with closing(connect(path)) as db:
        db.execute("insert into deliveries (seq, received_at, bytes) values (4094, 1, 2)")
    record_stores(tmp_path)
    before = read_inventory(tmp_path).stores[WORK_LIST]
    committer, settled = Committer(path), list[Any]()
    for id_ in range(3):
        committer.put(WebhookDelivery(None, id_, Notification("orders.update", "orders", id_, str(id_), None), 9, None))
    committer.start(settled.extend)
    committer.stop()
    assert [is_committed for _, is_committed in settled] == [True] * 3
    with closing(connect(path)) as db:
        assert {each for each in changed_parts(db, WORK_LIST, before) if "deliveries" in each} == {
            "deliveries/0",
            "deliveries/1",
        }
    record_stores(tmp_path)
    with closing(connect(path)) as db:
        assert changed_parts(db, WORK_LIST, read_inventory(tmp_path).stores[WORK_LIST]) == set()
