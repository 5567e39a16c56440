"""Tell people that somebody is needed: alarms by webhook and mail, once per cause until it is over, and a heartbeat."""

from pipelines.notify.alarms import Alarm, standing, update_alarms
from pipelines.notify.channels import NotifyError, beat, channels_of

__all__ = [
    "Alarm",
    "NotifyError",
    "beat",
    "channels_of",
    "standing",
    "update_alarms",
]
