"""Run the sandbox as tests need it, in a process of its own: it can be made to fail, and keeps a record of requests."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

from pipelines.sandbox.process import Sandbox


class StandIn(Sandbox):
    """A sandbox that `python -m tests.service` serves; keywords are its, `trouble` the fields of Trouble as a dict."""

    def command(self) -> list[str]:
        """Return the module that serves, and its flags as JSON."""
        return ["tests.service", json.dumps(self.flags, default=str)]

    def clock(self) -> dict[str, dt.datetime]:
        """Return the world's time (now), and when its days begin and end (start, end)."""
        shown = self.control("GET", "clock")
        return {name: dt.datetime.fromisoformat(shown[name]) for name in ("now", "start", "end")}

    def served(self) -> Any:
        """Return its requests, responses and injected faults (see Record.shown)."""
        return self.control("GET", "served")

    def clear_record(self) -> None:
        """Clear its record of requests."""
        self.control("DELETE", "served")

    def set_faults(self, **trouble: object) -> None:
        """Replace the faults: the fields of Trouble, none for a healthy service."""
        self.control("POST", "faults", trouble)
