"""A small part of `python -m tests.fuzz` in the suite, drawn by Hypothesis; and that its targets can fail."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.ingest.outcome import menu_ids_of
from pipelines.landing.exact import InvalidDocumentError
from pipelines.partner.breaker import has_a_field
from pipelines.partner.listing import value_at
from tests.fuzz import targets
from tests.fuzz.inputs import document, mutated
from tests.fuzz.rebuilt import equal, source

EXAMPLES = 40


@pytest.mark.parametrize("name", targets.TARGETS)
def test_target_finds_nothing(name: str) -> None:
    """No crash, and nothing taken for something else."""

    @given(seed=st.integers(0, 2**32))
    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def search(seed: int) -> None:
        targets.TARGETS[name](Random(f"{name}/{seed}"))

    search()


def test_inputs_reach_every_path() -> None:
    """Of the orders some are accepted, and some are refused."""
    validator = targets._validator("orders")
    taken = [0, 0]
    for seed in range(100):
        chance = Random(seed)
        body = mutated(chance, document(chance, "orders"))
        try:
            validator.validate(body)
            taken[0] += 1
        except InvalidDocumentError:
            taken[1] += 1
    assert min(taken) >= 5, taken


@pytest.mark.parametrize(
    ("name", "path", "wrong"),
    [
        ("orders", "without_plaintext", lambda document: document + b" "),
        ("menus", "rebuilt", lambda _found, _kind: {}),
        ("files", "documents", lambda *_, **__: iter([b"1"])),
        ("retry_after", "seconds_to_wait", lambda *_: -1.0),
        ("links", "targets", lambda *_: ["/x"]),
        ("pointers", "get", lambda *_: object()),
    ],
)
def test_planted_fault_is_found(name: str, path: str, wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that gives something else is noticed within a few inputs."""
    monkeypatch.setattr(targets, path, wrong)
    with pytest.raises(AssertionError):
        _run(name, 40)


def _run(name: str, count: int) -> None:
    for seed in range(count):
        targets.TARGETS[name](Random(seed))


@pytest.mark.parametrize("body", [b'{"\xff":1}', b'{"id":"\xff"}', b'{"a":{"\xff":1},"id":1}'])
def test_bytes_that_are_not_utf_8_crash_nothing(body: bytes) -> None:
    """What fuzzing found: a key that is not UTF-8 is for validation to refuse, wherever a body is looked at before."""
    assert isinstance(has_a_field(body, {"id"}), bool)
    assert list(menu_ids_of(body, targets.settings())) == []
    assert value_at(body, "/a/b") is None


def test_values_are_compared_by_value() -> None:
    """1.50 is 1.5; true is not 1; a missing key is a difference."""
    assert equal(source(b'{"a":[1.50,1e2]}'), source(b'{"a":[1.5,100]}'))
    for left, right in ((b"true", b"1"), (b"1", b"true"), (b"{}", b'{"a":null}'), (b"[1]", b"[1,1]"), (b'"1"', b"1")):
        assert not equal(source(left), source(right))
