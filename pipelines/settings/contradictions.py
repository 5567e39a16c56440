"""Find settings whose type is right but whose value is invalid, or contradicts another setting.

Knows neither the file nor the environment: it checks typed settings.
"""

from __future__ import annotations

import re
import zoneinfo
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pipelines.settings.hints import planner, webhooks
from pipelines.settings.kinds import ENTITIES
from pipelines.settings.security import security

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.settings.tables import Settings

_POINTER = re.compile(r"(/([^~/]|~[01])*)*")  # RFC 6901; a lone * is our extension: every element of an array
_CRON = re.compile(r"@\w+|[\w*/,#?-]+( +[\w*/,#?-]+){4}", re.ASCII)
_RULE = re.compile(r"[a-z0-9_+]+(/[a-z0-9_]+)+")
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]", re.ASCII)
_AMOUNT = re.compile(r"-?[0-9]{1,13}(\.[0-9]{1,4})?")
_CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)
_SIZE = re.compile(r"\d+(\.\d+)? ?([KMGT]i?B|%)", re.ASCII | re.IGNORECASE)


def contradictions(settings: Settings) -> Iterator[str]:
    """Yield one sentence for each invalid value; it starts with the key."""
    yield from _sales(settings)
    yield from _times(settings)
    yield from _address(settings)
    yield from _pointers(settings)
    yield from _paths(settings)
    yield from webhooks(settings.webhooks)
    yield from planner(settings.planner)
    yield from _formula(settings)
    yield from _notify(settings)
    yield from _closing(settings)
    yield from security(settings)
    if not settings.data.dir:
        yield "[data] dir: must name a folder"
    limit = settings.warehouse.memory_limit
    if limit != "auto" and not _SIZE.fullmatch(limit):
        yield f"[warehouse] memory_limit: {limit!r} is neither auto nor a size such as 850MB"


def _sales(settings: Settings) -> Iterator[str]:
    both = sorted(set(settings.sales.counted_statuses) & set(settings.sales.excluded_statuses))
    if both:
        yield f"[sales] counted_statuses and excluded_statuses: both contain {both[0]!r}; remove it from one of them"


def _times(settings: Settings) -> Iterator[str]:
    for key, name in (
        ("[business_day] timezone", settings.business_day.timezone),
        ("[schedule] timezone", settings.schedule.timezone),
    ):
        try:
            zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            yield f"{key}: {name!r} is not a timezone of the IANA database"
    start = settings.business_day.day_start
    if not _TIME.fullmatch(start):
        yield f"[business_day] day_start: {start!r} is not a local time such as 04:00"
    dayparts = settings.business_day.dayparts
    for part in dayparts:
        if not part.name or not 0 <= part.from_hour <= 23:
            yield f"[business_day] dayparts: {part.name!r} needs a name and an hour from 0 to 23"
    for key, values in (("name", [each.name for each in dayparts]), ("hour", [each.from_hour for each in dayparts])):
        if len(set(values)) < len(values):
            yield f"[business_day] dayparts: two have the same {key}; give each its own"
    fresh_by = settings.schedule.fresh_by
    if fresh_by and not _TIME.fullmatch(fresh_by):
        yield f"[schedule] fresh_by: {fresh_by!r} is not a local time such as 06:00"
    if not _CRON.fullmatch(settings.schedule.cron):
        yield f"[schedule] cron: {settings.schedule.cron!r} is not a cron expression such as 15 3 * * *"


def _closing(settings: Settings) -> Iterator[str]:
    for currency, amount in settings.closing.tolerance.items():
        if not _CURRENCY.fullmatch(currency):
            yield f"[closing.tolerance] {currency}: is not a currency such as EUR"
        if not _AMOUNT.fullmatch(amount) or amount.startswith("-"):
            yield f'[closing.tolerance] {currency}: {amount!r} is not an amount such as "0.02", with at most 4 decimals'


def _notify(settings: Settings) -> Iterator[str]:
    notify = settings.notify
    if notify.smtp_host and not (notify.mail_from and notify.mail_to):
        yield "[notify] mail_from, mail_to: mail needs both; leave smtp_host empty to send none"
    if notify.smtp_user and notify.smtp_security == "none":
        yield "[notify] smtp_security: a password is sent over an encrypted connection only; use starttls"


def _formula(settings: Settings) -> Iterator[str]:
    formula = settings.formula
    if not 0 <= formula.max_violation_rate < 0.5:
        yield "[formula] max_violation_rate: must be at least 0 and below 0.5"
    for key, rule in (("total_rule", formula.total_rule), ("subtotal_rule", formula.subtotal_rule)):
        if rule and not _RULE.fullmatch(rule):
            yield f"[formula] {key}: {rule!r} is not a rule such as observed/unrounded; audit.formula_rules lists all"

    for number, each in enumerate(formula.rule, 1):
        if not _RULE.fullmatch(each.rule):
            yield (
                f"[[formula.rule]] no. {number}: {each.rule!r} is not a rule like observed/unrounded; "
                "audit.formula_rules lists them"
            )
    for component in formula.component:
        name, amounts = component.name, (component.constant, component.share)
        if sum(bool(amount) for amount in amounts) != 1 or not all(_AMOUNT.fullmatch(each) for each in amounts if each):
            yield f'[[formula.component]] {name}: give constant or share, as text like "0.99", with at most 4 decimals'
        if bool(component.share) != bool(component.base):
            yield f"[[formula.component]] {name}: a share needs a base, and a constant has none"


def _address(settings: Settings) -> Iterator[str]:
    try:
        url = urlsplit(settings.partner.base_url)
        host, _ = url.hostname, url.port
    except ValueError:
        yield "[partner] base_url: is not an address such as https://partner.example"
        return
    if url.scheme not in {"http", "https"}:
        yield "[partner] base_url: must start with http:// or https://"
    elif not host:
        yield "[partner] base_url: must name a host"
    elif url.username or url.password:
        # Shown in errors and stored beside the data, so it must not contain a secret.
        yield "[partner] base_url: must not contain a name or password; credentials have their own settings"
    elif url.query or url.fragment:
        yield "[partner] base_url: must not contain ? or #; paths are appended to it"


def _pointers(settings: Settings) -> Iterator[str]:
    authenticate, listing = settings.partner.authenticate, settings.partner.list_stores
    store, landing = settings.partner.store, settings.landing
    pointers = {
        "[partner.authenticate] token_pointer": (authenticate.token_pointer,),
        "[partner.authenticate] expires_in_pointer": (authenticate.expires_in_pointer,),
        "[partner.list_stores] items_pointer": (listing.items_pointer,),
        "[partner.list_stores] cursor_pointer": (listing.cursor_pointer,),
        "[partner.store] id_pointer": (store.id_pointer,),
        "[partner.store] name_pointer": (store.name_pointer,),
        "[partner.store] timezone_pointer": (store.timezone_pointer,),
        "[partner.store] currency_pointer": (store.currency_pointer,),
        "[partner.store] menu_id_pointers": store.menu_id_pointers,
        "[partner.store] allowed_pointers": store.allowed_pointers,
        "[landing] allowed_pointers": landing.allowed_pointers,
    }
    for key, texts in pointers.items():
        for text in texts:
            if not _POINTER.fullmatch(text):
                yield f"{key}: {text!r} is not a JSON pointer such as /data/0/id"
    if listing.pagination == "cursor" and not listing.cursor_pointer:
        yield '[partner.list_stores] cursor_pointer: required by pagination = "cursor"'
    if listing.pagination in {"cursor", "page"} and not listing.cursor_parameter:
        yield f'[partner.list_stores] cursor_parameter: required by pagination = "{listing.pagination}"'


def _paths(settings: Settings) -> Iterator[str]:
    partner = settings.partner
    for key, path, part in (
        ("[partner.authenticate] path", partner.authenticate.path, ""),
        ("[partner.list_stores] path", partner.list_stores.path, ""),
        *(
            (f"[partner.{name}] path", getattr(partner, name).path, "{id}" if name == "order" else f"{{{name}_id}}")
            for name in ENTITIES.values()
        ),
    ):
        if not path.startswith("/"):
            yield f"{key}: must start with /"
        if part not in path:
            yield f"{key}: must contain {part}"
