"""Who makes an entry: the user of the process, beside the name that they give."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class User:
    """The operating system's user id, and the name given with `--as`: the name proves nothing."""

    uid: int
    name: str = ""

    @property
    def body(self) -> dict[str, int | str | None]:
        """What an entry records beside the user name that the ledger writes itself."""
        return {"uid": self.uid, "as": self.name or None}


def current_user(name: str = "") -> User:
    """Return the user of the process; `name` is what they call themselves."""
    return User(os.getuid(), name.strip())
