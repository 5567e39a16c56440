"""Tell people that somebody is needed: alarms by webhook and mail, once per cause until it is over, and a heartbeat.

An error names the channel and the kind of failure, never an address or a secret.

Which alarms stand is kept in `data/notify/alarms.json`, written by rename. An alarm counts as told only after every
channel took it, so a mail server that is down today gets it with the next run. A cause that comes and goes sends at
most three messages in a week: the third one says so, and what has changed since is sent when the week is over. That no
night was good for too long is noticed by whatever runs, since a dead schedule cannot tell of itself.
"""

import asyncio
import datetime as dt
import json
import smtplib
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from email.message import EmailMessage
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pipelines.clock import utc_now
from pipelines.durable import make_folder, write_whole
from pipelines.inventory import InventoryError, write_noted
from pipelines.literals import one_line
from pipelines.record import NIGHT, Run, is_ahead, runs
from pipelines.settings import Notify, Secret, Settings

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
Channel = Callable[[str], None]
_LONGEST = 10_000  # characters of a message
_TIMEOUT_SECONDS = 10.0  # of each wait for the server
_MOST_SECONDS = 30.0  # of the whole: a server that sends byte by byte never lets a wait end


class NotifyError(Exception):
    """A message could not be sent; the text names what failed, without address or secret."""


def channels_of(settings: Settings) -> dict[str, Channel]:
    """Return the channels that settings name: `webhook`, `mail`, both or none."""
    notify = settings.notify
    found: dict[str, Channel] = {}
    if notify.webhook_url:
        found["webhook"] = lambda text: _post(notify, _plain(text))
    if notify.smtp_host:
        found["mail"] = lambda text: _mail(notify, _plain(text))
    return found


def beat(settings: Settings) -> None:
    """Call [notify] heartbeat_url, if there is one, so that a monitor elsewhere misses the night that does not call."""
    if settings.notify.heartbeat_url:
        _request("heartbeat", "GET", settings.notify.heartbeat_url)


def _post(notify: Notify, text: str) -> None:
    titled = f"ordermart: {text}"
    body = {"text": titled}
    if notify.webhook_format != "slack":
        body = {"source": "ordermart", "text": titled, "host": socket.gethostname()}
    _request("webhook", "POST", notify.webhook_url, json=body)


def _request(what: str, method: str, url: Secret, **content: Any) -> None:
    from pipelines.partner.exchange import PartnerMisconfigured  # noqa: PLC0415 -- slow: a status sends nothing
    from pipelines.partner.network import open_client  # noqa: PLC0415 -- the same

    async def send() -> "httpx.Response":
        async with open_client(url.reveal()) as client:
            return await client.request(method, url.reveal(), timeout=_TIMEOUT_SECONDS, **content)

    try:
        answer = _bounded(what, lambda: asyncio.run(send()))
    except NotifyError:
        raise
    except PartnerMisconfigured as error:
        raise NotifyError(f"{what}: {error}") from None
    except Exception as error:  # noqa: BLE001 -- whatever it is, it may hold the address
        raise NotifyError(f"{what}: {type(error).__name__}") from None
    if not answer.is_success:
        raise NotifyError(f"{what}: answered with status {answer.status_code}")


def _bounded(what: str, send: Callable[[], T]) -> T:
    """Return what `send` returns or raise what it raises; raise NotifyError if that takes too long, and leave it."""
    sent: Future[T] = Future()

    def work() -> None:
        try:
            sent.set_result(send())
        except Exception as error:  # noqa: BLE001 -- raised where it is waited for
            sent.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    wait([sent], _MOST_SECONDS)
    if not sent.done():
        raise NotifyError(f"{what}: took longer than {_MOST_SECONDS:g} seconds")
    return sent.result()


def _mail(notify: Notify, text: str) -> None:
    message = EmailMessage()
    message["Subject"] = f"ordermart on {socket.gethostname()}: {text}"[:150]
    message["From"] = notify.mail_from
    message["To"] = ", ".join(notify.mail_to)
    message["Date"] = formatdate()
    message.set_content(text + "\n")

    def send() -> None:
        with smtplib.SMTP(notify.smtp_host, notify.smtp_port, timeout=_TIMEOUT_SECONDS) as server:
            if notify.smtp_security == "starttls":
                server.starttls(context=ssl.create_default_context())
            if notify.smtp_user:
                server.login(notify.smtp_user, notify.smtp_password.reveal())
            server.send_message(message)

    try:
        _bounded("mail", send)
    except (OSError, smtplib.SMTPException) as error:
        raise NotifyError(f"mail: {type(error).__name__}") from None


def _plain(text: str) -> str:
    """Return a text on one line, without control characters: mail is read in terminals, too."""
    return one_line(" ".join(text.split()), most=_LONGEST)


def write_json(file: Path, content: Any) -> None:
    """Write the file under another name, sync it, and rename it."""
    encoded = json.dumps(msgspec.to_builtins(content), indent=1).encode()
    try:
        write_noted(file.parent.parent, file, encoded)
    except InventoryError:  # a night says that the inventory is lost, and must be able to
        make_folder(file.parent, 0o700)
        write_whole(file, encoded)


def read_json(file: Path, kind: type[T]) -> T | None:
    """Return the file's content; None where there is none, or it is not of this type."""
    try:
        return msgspec.convert(json.loads(file.read_bytes()), kind)  # a text may hold half a pair of surrogates
    except (OSError, ValueError, msgspec.ValidationError):
        return None


@dataclass(frozen=True)
class LastBackup:
    """The last backup that was completed: when it began, its name, and the folder that it is in."""

    taken_at: dt.datetime
    path: str
    bytes: int


def last_backup(data_dir: Path) -> LastBackup | None:
    """Return the last backup; None before the first or when the file cannot be read."""
    return read_json(_last_backup_file(data_dir), LastBackup)


def record_backup(data_dir: Path, backup: LastBackup) -> None:
    """Record that a backup was completed."""
    write_json(_last_backup_file(data_dir), backup)


def _last_backup_file(data_dir: Path) -> Path:
    return data_dir / "notify" / "last_backup.json"


_MOST, _WEEK = 3, dt.timedelta(days=7)  # messages for a cause
_LAST = " It has come and gone before: for a week only `ordermart status` shows further changes."
# Causes, the most urgent first: the end of an alarm, {what} being the part after the colon; the command to run.
CAUSES = {
    "run_failed": ("the failed run", "ordermart doctor"),
    "outage": ("the outage of the partner service", "ordermart doctor"),
    "damaged": ("damaged files", "ordermart inventory"),
    "verification": ("verified parts that differed", "ordermart build --full"),
    "settings": ("settings that looked wrong", "ordermart doctor"),
    "incomplete": ("{what} that were not up to date", "ordermart run"),
    "disk": ("too little free disk space", "ordermart status"),
    "silence": ("no document received", "ordermart doctor"),
    "no_good_night": ("nights without a good one", "ordermart doctor"),
    "rule_changed": ("the changed formula rules", "ordermart questions"),
    "models": ("the own tables", "ordermart models check"),
    "copies": ("the copies of the release", "ordermart copy"),
    "new_failures": ("quarantined or failed ids", ""),  # the headline counts them
}
NO_GOOD_NIGHT = "no_good_night"


@dataclass(frozen=True)
class Alarm:
    """Something that needs somebody. `cause` is stable while it lasts, such as `outage`; `text` is one sentence.

    The text holds counts, names of settings and commands; never a text of the partner's.
    """

    cause: str
    text: str


@dataclass(frozen=True)
class AlarmState:
    """An alarm: since when, which channels know whether it is over, and when messages were sent in the last week."""

    cause: str
    text: str
    since: dt.datetime
    told: tuple[str, ...]
    is_over: bool = False
    sent: tuple[dt.datetime, ...] = ()


def active_alarms(data_dir: Path) -> list[AlarmState]:
    """Return the alarms that stand, oldest first."""
    return sorted((a for a in _read(_file(data_dir)).values() if not a.is_over), key=lambda a: (a.since, a.cause))


def next_command(cause: str) -> str:
    """Return the command to run for an alarm, as the page names it."""
    return CAUSES.get(cause.partition(":")[0], ("", ""))[1] or "ordermart status"


def update_alarms(
    data_dir: Path,
    raised: Iterable[Alarm],
    channels: Mapping[str, Channel],
    *,
    evaluated_causes: AbstractSet[str],
    now: dt.datetime | None = None,
) -> list[str]:
    """Record which alarms stand now and tell each channel what it does not know yet; return failures to send.

    `evaluated_causes` are the causes (or their part before a colon) that were examined: what stands of them and was not
    raised is over. Causes that nobody looked at stay as they are. Raise nothing because of a channel.
    """
    now = now or utc_now()
    file = _file(data_dir)
    known = _read(file)
    current = {alarm.cause: alarm for alarm in raised}
    for cause, alarm in current.items():
        before = known.get(cause) or AlarmState(cause, "", now, tuple(channels), is_over=True)
        if before.is_over:
            known[cause] = _flipped(before, channels, text=alarm.text, since=now)
        else:  # told once; the page and `status` have today's text
            known[cause] = replace(before, text=alarm.text)
    for cause, old in list(known.items()):
        is_evaluated = not evaluated_causes.isdisjoint((cause, cause.partition(":")[0]))
        if cause not in current and not old.is_over and is_evaluated:
            known[cause] = _flipped(old, channels)
    failures = []
    for cause, entry in sorted(known.items(), key=lambda item: (item[1].since, item[0])):
        told = set(entry.told)
        sent = tuple(at for at in entry.sent if now - at < _WEEK)
        for name, send in sorted(channels.items()) if len(sent) < _MOST else ():
            if name in told:
                continue
            try:
                send(_message(entry) + _LAST * (len(sent) == _MOST - 1))
            except NotifyError as error:
                failures.append(f"An alarm could not be sent: {name}: {error}.")
            else:
                told.add(name)
        sent = sent if told == set(entry.told) else (*sent, now)
        known[cause] = replace(entry, told=tuple(sorted(told)), sent=sent)
    left = [each for each in known.values() if not each.is_over or each.sent or set(channels) - set(each.told)]
    return [*failures, *_unwritten(file, left)]


def _flipped(before: AlarmState, channels: Iterable[str], **changes: Any) -> AlarmState:
    """Return an alarm that began or ended; a channel that never heard of the last change knows the present state."""
    unaware = tuple(sorted(set(channels) - set(before.told)))
    return replace(before, told=unaware, is_over=not before.is_over, **changes)


def _unwritten(file: Path, alarms: list[AlarmState]) -> Iterator[str]:
    """Write the state, or yield why it could not be: what was sent is sent again by the next run."""
    try:
        write_json(file, alarms)
    except OSError as error:
        yield f"Which alarms were sent could not be recorded, so the next run sends them again: {error.strerror}."


def _message(alarm: AlarmState) -> str:
    if not alarm.is_over:
        return alarm.text
    cause, _, what = alarm.cause.partition(":")
    over, _ = CAUSES.get(cause, (cause.replace("_", " "), ""))
    return f"Over: {over.format(what=what)}, since {alarm.since:%Y-%m-%d %H:%M} UTC."


def _file(data_dir: Path) -> Path:
    return data_dir / "notify" / "alarms.json"


def _read(file: Path) -> dict[str, AlarmState]:
    """Return the alarms of the file by cause; none where it cannot be read: told again rather than never."""
    return {alarm.cause: alarm for alarm in read_json(file, list[AlarmState]) or []}


def notice_missing_nights(settings: Settings, now: dt.datetime | None = None) -> list[str]:
    """Send an alarm if no night was good for too long, or that one was since; return what could not be sent."""
    now = now or utc_now()
    alarms = list(no_good_night(settings, now))
    if not alarms and all(alarm.cause != NO_GOOD_NIGHT for alarm in active_alarms(settings.data_dir)):
        return []
    evaluated_causes = {NO_GOOD_NIGHT}
    return update_alarms(settings.data_dir, alarms, channels_of(settings), evaluated_causes=evaluated_causes, now=now)


def no_good_night(settings: Settings, now: dt.datetime, *ended: Run) -> Iterator[Alarm]:
    """Yield an alarm if no night since the first was good for [notify] max_age_hours; `ended` may be unwritten yet."""
    hours = settings.notify.max_age_hours
    every = [*runs(settings.data_dir), *ended]
    nights = [run for run in every if run.kind == NIGHT and not is_ahead(run, now)]
    good = [run.ended_at for run in nights if run.run_state == "good" and run.ended_at]
    since = max(good) if good else min((run.started_at for run in nights), default=now)
    if hours and now - since > dt.timedelta(hours=hours):
        last = f"since {since:%Y-%m-%d %H:%M} UTC" if good else "yet"
        text = f"No night was good {last}; [notify] max_age_hours is {hours:g}. Is the schedule on?"
        yield Alarm(NO_GOOD_NIGHT, text)
