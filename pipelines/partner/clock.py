"""Time and randomness as values, so that a test can supply its own."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.clock import utc_now

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Clock:
    """The client's source of time, sleep and random numbers.

    `monotonic` is in seconds, `now` is aware and in UTC, `random` is in [0, 1).
    """

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    now: Callable[[], datetime] = utc_now
    random: Callable[[], float] = random.SystemRandom().random
