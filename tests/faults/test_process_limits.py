"""Too little memory for the process itself: a build says so, leaves nothing locked, and calls nothing damaged."""

from __future__ import annotations

import functools
import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pipelines.ingest.lock import lock_holder

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Place

pytestmark = pytest.mark.slow


def test_a_build_without_memory_ends_with_one_sentence(serve: Callable[..., Place]) -> None:
    """At these limits threads of libraries hung, aborted the process, or let raw files seem to be damaged."""
    place = serve(orders=40, stores=2, days=2)
    place.ask(place.ids)
    place.pull()
    for command, limit, megabytes in (
        ("build", resource.RLIMIT_AS, 700),
        ("build", resource.RLIMIT_AS, 1_500),
        ("build", resource.RLIMIT_DATA, 800),
        ("run", resource.RLIMIT_AS, 700),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "pipelines.cli", command],
            env={**os.environ, **place.environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            preexec_fn=functools.partial(resource.setrlimit, limit, (megabytes * 10**6,) * 2),
        )
        said = done.stderr
        assert (done.returncode, "Traceback" in said, "damaged" in said) == (1, False, False), said
        assert "there is not enough memory: `ulimit -v` or `ulimit -d` leaves this process" in said
        assert lock_holder(place.data) is None
    done = subprocess.run(  # what threads write fails in them
        [sys.executable, "-m", "pipelines.cli", "build"],
        env={**os.environ, **place.environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (10**6, 10**6)),
    )
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert "raise `ulimit -f`" in done.stdout + done.stderr, done.stdout + done.stderr
    assert lock_holder(place.data) is None
    code, said = place.command("build")
    assert code == 0, said
