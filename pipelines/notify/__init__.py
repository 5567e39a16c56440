"""Tell people that somebody is needed: alarms by webhook and mail, once per cause until it is over, and a heartbeat."""

from pipelines.notify.alarms import (
    NO_GOOD_NIGHT,
    Alarm,
    no_good_night,
    notice_missing_nights,
    standing,
    update_alarms,
)
from pipelines.notify.channels import NotifyError, beat, channels_of
from pipelines.notify.files import LastBackup, last_backup, read_json, record_backup, write_json

__all__ = [
    "NO_GOOD_NIGHT",
    "Alarm",
    "LastBackup",
    "NotifyError",
    "beat",
    "channels_of",
    "last_backup",
    "no_good_night",
    "notice_missing_nights",
    "read_json",
    "record_backup",
    "standing",
    "update_alarms",
    "write_json",
]
