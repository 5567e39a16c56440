"""Record requests and their outcomes, for tests to compare."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from typing import Any


class Record:
    """All requests since the start, or since `clear`, except those to the control API."""

    def __init__(self) -> None:
        self.in_flight = 0
        self._since = self._began = time.monotonic()
        self.clear()

    def clear(self) -> None:
        """Clear everything, attempt counts included."""
        self.requests = 0
        self.most_in_flight = self.in_flight
        self.answers: Counter[str] = Counter()
        self._tries: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._mishaps: defaultdict[str, list[tuple[str, str, int]]] = defaultdict(list)
        self._seconds: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._busy: defaultdict[int, float] = defaultdict(float)
        self._since = self._began = time.monotonic()

    def start(self, operation: str, asked: str) -> int:
        """Record a request; return its attempt number, from 1."""
        self._pass()
        if not self.requests:
            self._began = self._since
        self.requests += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self._tries[operation][asked] += 1
        return self._tries[operation][asked]

    def end(self, operation: str, outcome: str) -> None:
        """Record how a request ended: a status, or a fault of its connection."""
        second = self._pass()
        self.in_flight -= 1
        self.answers[f"{operation} {outcome}"] += 1
        self._seconds[second][outcome] += 1

    def fault(self, mishap: str, operation: str, asked: str, no: int) -> None:
        """Record a fault that was injected."""
        self._mishaps[mishap].append((operation, asked, no))

    def shown(self) -> dict[str, Any]:
        """Return everything as JSON values.

        `tries` counts requests by operation and id (or query), `mishaps` lists (operation, id, attempt) by fault,
        `seconds` has outcomes per second since the first request, and the mean concurrency.
        """
        self._pass()
        last = max(self._seconds, default=-1)
        return {
            "requests": self.requests,
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            "answers": dict(self.answers),
            "tries": {operation: dict(tries) for operation, tries in self._tries.items()},
            "mishaps": dict(self._mishaps),
            "seconds": [
                {"ends": dict(self._seconds[second]), "in_flight": round(self._busy[second], 2)}
                for second in range(last + 1)
            ],
        }

    def _pass(self) -> int:
        """Account for the time up to now at the current concurrency; return the current second."""
        now = time.monotonic()
        place, end = self._since - self._began, now - self._began
        while place < end:
            step = min(end, int(place) + 1.0)
            self._busy[int(place)] += (step - place) * self.in_flight
            place = step
        self._since = now
        return int(end)
