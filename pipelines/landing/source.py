"""Remember which service the landed data came from, and refuse another one.

Knows nothing of how the service is spoken to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pipelines.durable import make_folder, write_whole
from pipelines.landing.formats import guard_format, note_formats
from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from pipelines.settings import Settings


def guard_source(settings: Settings) -> None:
    """Note base_url when data/ is new; raise SettingsError when what is there came from another service.

    The same where a newer version of ordermart wrote it.
    """
    guard_format(settings.data_dir)
    path = settings.data_dir / "raw" / "source.json"
    here = settings.partner.base_url.rstrip("/")
    try:
        known = msgspec.json.decode(path.read_bytes(), type=dict[str, str])["base_url"]
    except FileNotFoundError:
        note_formats(settings.data_dir)
        make_folder(path.parent)
        write_whole(path, msgspec.json.encode({"base_url": here}))
        return
    except (msgspec.DecodeError, KeyError):
        raise SettingsError(
            f"{path} is damaged: restore it from a backup, or remove it if the data came from [partner] base_url"
        ) from None
    if known != here:
        raise SettingsError(
            f"{settings.data_dir} holds data of {known}, and [partner] base_url is {here}: "
            "set it back, or name another [data] dir"
        )
