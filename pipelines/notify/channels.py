"""Send a text to people: a webhook (plain JSON or Slack's form), mail by SMTP; call a heartbeat address.

An error names the channel and the kind of failure, never an address or a secret.
"""

from __future__ import annotations

import smtplib
import socket
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from email.message import EmailMessage
from email.utils import formatdate
from typing import TYPE_CHECKING, TypeVar

from pipelines.literals import one_line

if TYPE_CHECKING:
    import httpx

    from pipelines.settings import Notify, Settings

Sent = TypeVar("Sent")
Channel = Callable[[str], None]
_LONGEST = 10_000  # signs of a message
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
        import httpx  # noqa: PLC0415 -- slow: a status sends nothing

        _request("heartbeat", lambda: httpx.get(settings.notify.heartbeat_url.reveal(), timeout=_TIMEOUT_SECONDS))


def _post(notify: Notify, text: str) -> None:
    titled = f"ordermart: {text}"
    body = (
        {"text": titled}
        if notify.webhook_format == "slack"
        else {"source": "ordermart", "text": titled, "host": _host()}
    )
    import httpx  # noqa: PLC0415 -- slow: a status sends nothing

    _request("webhook", lambda: httpx.post(notify.webhook_url.reveal(), json=body, timeout=_TIMEOUT_SECONDS))


def _request(what: str, send: Callable[[], httpx.Response]) -> None:
    import httpx  # noqa: PLC0415 -- slow: a status sends nothing

    try:
        answer = _bounded(what, send)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise NotifyError(f"{what}: {type(error).__name__}") from None
    if not answer.is_success:
        raise NotifyError(f"{what}: answered with status {answer.status_code}")


def _bounded(what: str, send: Callable[[], Sent]) -> Sent:
    """Return what `send` returns or raise what it raises; raise NotifyError if that takes too long, and leave it."""
    sent: Future[Sent] = Future()

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
    message["Subject"] = f"ordermart on {_host()}: {text}"[:150]
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


def _host() -> str:
    return socket.gethostname()
