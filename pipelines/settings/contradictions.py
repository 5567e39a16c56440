"""Find settings whose type is right but whose value is invalid, contradicts another, or leaves a door open."""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
import zoneinfo
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pipelines.settings.kinds import ENTITIES

if TYPE_CHECKING:
    from pipelines.settings.setting_tables import FormulaComponent, OrderScope, Settings, WebhookSettings

_AND = re.compile(r"\band\b(?=(?:[^']*'[^']*')*[^']*$)")  # outside of a text
_CONDITION = re.compile(r"\s*([a-z_]+)\s*(?:(<=|>=|!=|<|>|=)\s*(-?[0-9]{1,14}(?:\.[0-9]{1,4})?)|(!=|=)\s*('[^']*'))\s*")


def read_conditions(text: str) -> list[dict[str, str]]:
    """Return field, operator and value (a number, or a text in quotes) of all conditions; raise ValueError for none."""
    return [_read(each) for each in _AND.split(text)] if text else []


def _read(text: str) -> dict[str, str]:
    if not (found := _CONDITION.fullmatch(text)):
        raise ValueError(f"{text.strip()!r} is not a condition such as subtotal_price < 10 or currency = 'EUR'")
    field, *compared = found.groups()
    operator, value = compared[:2] if compared[0] else compared[2:]
    return {"field": field, "operator": operator, "value": value}


_POINTER = re.compile(r"(/([^~/]|~[01])*)*")  # RFC 6901; a lone * is our extension: every element of an array
_CRON = re.compile(r"@\w+|[\w*/,#?-]+( +[\w*/,#?-]+){4}", re.ASCII)
_RULE = re.compile(r"[a-z0-9_+]+(/[a-z0-9_]+)+")
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]", re.ASCII)
_AMOUNT = re.compile(r"-?[0-9]{1,13}(\.[0-9]{1,4})?")
_SHARE = re.compile(r"-?[0-9]{1,3}(\.[0-9]{1,6})?")
_CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)
_SIZE = re.compile(r"\d+(\.\d+)? ?([KMGT]i?B|%)", re.ASCII | re.IGNORECASE)
_PLACE = re.compile(r"header:[!#$%&'*+.^_`|~0-9A-Za-z-]+|(/([^~/]|~[01])*)+")
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BRACES = re.compile(r"\{[^}]*\}?")
# The library checks staleness itself, with this fixed limit.
_STANDARD_TOLERANCE = 300
_OTHERS = 0o077


def contradictions(settings: Settings) -> Iterator[str]:
    """Yield one sentence for each invalid value; it starts with the key."""
    if both := sorted(set(settings.sales.counted_statuses) & set(settings.sales.excluded_statuses)):
        yield f"[sales] counted_statuses and excluded_statuses: both contain {both[0]!r}; remove it from one of them"
    yield from _times(settings)
    yield from _address(settings)
    yield from _pointers(settings)
    yield from _paths(settings)
    yield from _webhooks(settings.webhooks)
    yield from _formula(settings)
    yield from _limits(settings)
    yield from _years_and_currencies(settings)
    yield from security(settings)
    if not settings.data.dir:
        yield "[data] dir: must name a folder"
    limit = settings.warehouse.memory_limit
    if limit != "auto" and not _SIZE.fullmatch(limit):
        yield f"[warehouse] memory_limit: {limit!r} is neither auto nor a size such as 850MB"


def _times(settings: Settings) -> Iterator[str]:
    day, schedule = settings.business_day, settings.schedule
    for key, name in (("business_day", day.timezone), ("schedule", schedule.timezone)):
        if not is_zone(name):
            yield f"[{key}] timezone: {name!r} is not a timezone of the IANA database"
    if not _TIME.fullmatch(day.day_start):
        yield f"[business_day] day_start: {day.day_start!r} is not a local time such as 04:00"
    for part in day.dayparts:
        if not part.name or not 0 <= part.from_hour <= 23:
            yield f"[business_day] dayparts: {part.name!r} needs a name and an hour from 0 to 23"
    names, hours = {each.name for each in day.dayparts}, {each.from_hour for each in day.dayparts}
    for key, number in (("name", len(names)), ("hour", len(hours))):
        if number < len(day.dayparts):
            yield f"[business_day] dayparts: two have the same {key}; give each its own"
    if schedule.fresh_by and not _TIME.fullmatch(schedule.fresh_by):
        yield f"[schedule] fresh_by: {schedule.fresh_by!r} is not a local time such as 06:00"
    if not _CRON.fullmatch(schedule.cron):
        yield f"[schedule] cron: {schedule.cron!r} is not a cron expression such as 15 3 * * *"


def is_zone(name: str) -> bool:
    """Tell whether the IANA database has a timezone of this name."""
    try:
        return bool(name) and bool(zoneinfo.ZoneInfo(name))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False


def _years_and_currencies(settings: Settings) -> Iterator[str]:
    day = settings.business_day
    if not day.first_year <= day.last_year < dt.MAXYEAR:
        yield f"[business_day] first_year, last_year: must not decrease, and be below {dt.MAXYEAR}"
    for name, code in settings.finance.currency_codes.items():
        if not _CURRENCY.fullmatch(code):
            yield f"[finance.currency_codes] {name}: {code!r} is not a currency such as EUR"
    for currency, amount in settings.closing.tolerance.items():
        if not _CURRENCY.fullmatch(currency):
            yield f"[closing.tolerance] {currency}: is not a currency such as EUR"
        if not _AMOUNT.fullmatch(amount) or amount.startswith("-"):
            yield f'[closing.tolerance] {currency}: {amount!r} is not an amount such as "0.02", with at most 4 decimals'


def _limits(settings: Settings) -> Iterator[str]:
    planner = settings.planner
    if not planner.hot_max_age_days <= planner.warm_max_age_days <= planner.cold_max_age_days:
        yield "[planner] hot_max_age_days, warm_max_age_days, cold_max_age_days: must not decrease"
    for name in ("max_not_found_rate", "max_failed_rate"):
        if not 0 < getattr(planner, name) <= 1:
            yield f"[planner] {name}: must be above 0 and at most 1"
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
            what = f"[[formula.rule]] no. {number}: {each.rule!r} is not a rule like observed/unrounded"
            yield f"{what}; audit.formula_rules lists them"
        yield from _condition(f"[[formula.rule]] no. {number}", each)
    for component in formula.component:
        yield from _condition(f"[[formula.component]] {component.name}", component)
        name = component.name
        given = [each for each in (component.constant, component.share, component.price_factor, component.step) if each]
        if len(given) != 1 or not (_SHARE if component.share else _AMOUNT).fullmatch(given[0]):
            what = f"[[formula.component]] {name}: give constant, share, price_factor or step"
            yield f'{what}, as text like "0.99", with at most 4 decimals, a share at most 6'
        elif float(component.price_factor or 1) == 0 or float(component.step or 1) <= 0:
            yield f"[[formula.component]] {name}: a price_factor must not be 0, and a step must be above 0"
        if bool(component.share) != bool(component.base):
            yield f"[[formula.component]] {name}: a share needs a base, and a constant has none"
        yield from _rounding(component)


def _rounding(component: FormulaComponent) -> Iterator[str]:
    if component.round and (not component.share or (component.round == "line" and component.base != "subtotal")):
        yield f'[[formula.component]] {component.name}: round needs a share; "line" needs the base "subtotal"'


def _condition(key: str, setting: OrderScope) -> Iterator[str]:
    try:
        read_conditions(setting.when)
    except ValueError as error:
        yield f"{key}: when: {error}"


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
    proxy = settings.partner.proxy
    if proxy not in {"", "none"} and not re.fullmatch(r"https?://[^\s/?#@]+/?", proxy):
        yield (
            '[partner] proxy: must be "none" or an address such as http://proxy.example:3128; with a name and password '
            "it is given by HTTPS_PROXY"
        )


def _pointers(settings: Settings) -> Iterator[str]:
    listing, store = settings.partner.list_stores, settings.partner.store
    for key, table, names in (
        ("partner.authenticate", settings.partner.authenticate, "token_pointer expires_in_pointer"),
        ("partner.list_stores", listing, "items_pointer cursor_pointer"),
        ("partner.store", store, "record_pointer id_pointer name_pointer timezone_pointer currency_pointer"),
        ("partner.store", store, "menu_id_pointers allowed_pointers"),
        ("landing", settings.landing, "allowed_pointers"),
    ):
        for name in names.split():
            given: str | tuple[str, ...] = getattr(table, name)
            for text in (given,) if isinstance(given, str) else given:
                if not _POINTER.fullmatch(text):
                    yield f"[{key}] {name}: {text!r} is not a JSON pointer such as /data/0/id"
    if listing.pagination in {"cursor", "next_url", "last_id"} and not listing.cursor_pointer:
        yield f'[partner.list_stores] cursor_pointer: required by pagination = "{listing.pagination}"'
    if listing.pagination in {"cursor", "page", "offset", "last_id"} and not listing.cursor_parameter:
        yield f'[partner.list_stores] cursor_parameter: required by pagination = "{listing.pagination}"'


def _paths(settings: Settings) -> Iterator[str]:
    partner = settings.partner
    if not HEADER.fullmatch(partner.authenticate.header):
        yield "[partner.authenticate] header: must be a header's name, without colon; what precedes the token is scheme"
    for name in partner.authenticate.body if partner.authenticate.encoding == "headers" else ():
        if not HEADER.fullmatch(name):
            yield f"[partner.authenticate] body: {name!r} is not the name of a header"
    for name in ("authenticate", "list_stores", *ENTITIES.values()):
        path: str = getattr(partner, name).path
        part = "{id}" if name == "order" else f"{{{name}_id}}" if name in ENTITIES.values() else ""
        if not path.startswith("/"):
            yield f"[partner.{name}] path: must start with /"
        if part not in path:
            yield f"[partner.{name}] path: must contain {part}"


def _webhooks(settings: WebhookSettings) -> Iterator[str]:
    """Yield one sentence for each invalid value in [webhooks]; it starts with the key."""
    if not settings.host:
        yield "[webhooks] host: must be an address"
    if not 0 <= settings.port < 2**16:
        yield f"[webhooks] port: {settings.port} is not a port number"
    if not re.fullmatch(r"/[!-~]*", settings.path) or set(settings.path) & set("?#{}"):
        yield "[webhooks] path: must be a path such as /webhooks"
    if settings.path == "/health":
        yield "[webhooks] path: /health is reserved for health checks"
    yield from _places(settings)
    if settings.signature == "standard_webhooks" and settings.tolerance_seconds > _STANDARD_TOLERANCE:
        yield f"[webhooks] tolerance_seconds: Standard Webhooks allows at most {_STANDARD_TOLERANCE}"
    if settings.signature == "hmac_sha256":
        yield from _hmac(settings)


def _places(settings: WebhookSettings) -> Iterator[str]:
    for key in ("topic_locations", "id_locations", "delivery_id_locations"):
        places: tuple[str, ...] = getattr(settings, key)
        if not places and key != "delivery_id_locations":
            yield f"[webhooks] {key}: must name at least one location"
        for place in places:
            if not _PLACE.fullmatch(place):
                yield f"[webhooks] {key}: {place!r} is neither header:Name nor a JSON pointer such as /data/id"
            elif "{kind}" in place and key != "id_locations":
                yield f"[webhooks] {key}: {place!r} contains {{kind}}, which is allowed only in id_locations"


def _hmac(settings: WebhookSettings) -> Iterator[str]:
    if not HEADER.fullmatch(settings.signature_header):
        yield "[webhooks] signature_header: must name a header"
    if settings.timestamp_header and not HEADER.fullmatch(settings.timestamp_header):
        yield "[webhooks] timestamp_header: must name a header, or be empty"
    if settings.signing_template.count("{body}") != 1:
        yield "[webhooks] signing_template: must contain {body} exactly once"
    for found in set(_BRACES.findall(settings.signing_template)) - {"{body}", "{timestamp}"}:
        yield f"[webhooks] signing_template: {found!r} is neither {{body}} nor {{timestamp}}"
    if bool(settings.timestamp_header) != ("{timestamp}" in settings.signing_template):
        yield "[webhooks] timestamp_header: must be set if and only if signing_template contains {timestamp}"


def is_loopback(host: str) -> bool:
    """Return whether an address, or a name that stands for one, can be reached from this machine only."""
    name = host.strip("[]").lower()
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def security(settings: Settings) -> Iterator[str]:
    """Yield one sentence for each door that is open without leave; it starts with the key."""
    if complaint := unsigned(settings, settings.webhooks.host):
        yield complaint
    for each in settings.webhooks.trusted_proxies:
        if not is_network(each):
            yield f"[webhooks] trusted_proxies: {each} is neither an address nor a network such as 10.0.0.0/8"
    url = urlsplit(settings.partner.base_url)
    if url.scheme == "http" and not is_loopback(url.hostname or "") and not settings.security.allow_plain_http:
        what = "[partner] base_url: plain http sends credentials and personal data readable over the network"
        yield f"{what}; use https, or set [security] allow_plain_http = true"


def is_network(text: str) -> bool:
    """Tell whether a text is an address or a network."""
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def unsigned(settings: Settings, host: str) -> str:
    """Return why webhooks are not received on this address without a signature; "" if they are."""
    webhooks = settings.webhooks
    if webhooks.signature != "none" or is_loopback(host) or settings.security.allow_unsigned_webhooks:
        return ""
    return (
        f'[webhooks] host: {host} can be reached by others, who could send anything while signature = "none"; '
        "set a signature, or [security] allow_unsigned_webhooks = true"
    )


def readable_by_others(path: Path) -> bool:
    """Return whether others than its owner may read a file; a pipe is nobody else's."""
    return path.is_file() and bool(path.stat().st_mode & _OTHERS)
