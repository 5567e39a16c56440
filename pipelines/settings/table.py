"""What every table of settings is made of: the error, a secret, a frozen table.

Knows no key.
"""

from __future__ import annotations

import sys
from typing import Annotated

import msgspec

PositiveInt = Annotated[int, msgspec.Meta(gt=0)]
NonNegativeInt = Annotated[int, msgspec.Meta(ge=0)]
PositiveFloat = Annotated[float, msgspec.Meta(gt=0, le=sys.float_info.max)]
NonNegativeFloat = Annotated[float, msgspec.Meta(ge=0, le=sys.float_info.max)]


class SettingsError(Exception):
    """A setting is missing, unknown or invalid; the message names its key."""


class Secret:
    """A value that is revealed only on request: never in a repr, a log or an error."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the secret."""
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "Secret(…)"


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table of the settings file."""
