"""Declare the settings of the business day and of its dayparts."""

from __future__ import annotations

from typing import Literal

import msgspec

from pipelines.settings.table import Table


class Daypart(Table, frozen=True):
    """A part of the day, and the hour at which it begins."""

    name: str
    from_hour: int = msgspec.field(name="from")


class BusinessDay(Table, frozen=True):
    """Which time of an order decides its business day, where a day begins, and its dayparts."""

    time_field: Literal["created_at", "requested_time", "promised_delivery_time"]
    timezone: str
    day_start: str
    dayparts: tuple[Daypart, ...]

    @property
    def daypart_of_hour(self) -> list[str | None]:
        """The name of the daypart of each hour from 0 to 23; None for all without dayparts."""
        begins = {part.from_hour: part.name for part in self.dayparts}
        current = begins[max(begins)] if begins else None
        names = []
        for hour in range(24):
            current = begins.get(hour, current)
            names.append(current)
        return names
