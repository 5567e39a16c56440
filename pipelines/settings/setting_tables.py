"""Declare every table and key of ordermart.toml, with its type."""

import datetime as dt
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from pipelines.record import Exit
from pipelines.settings.contradictions import read_conditions

PositiveInt = Annotated[int, msgspec.Meta(gt=0)]
NonNegativeInt = Annotated[int, msgspec.Meta(ge=0)]
PositiveFloat = Annotated[float, msgspec.Meta(gt=0, le=sys.float_info.max)]
NonNegativeFloat = Annotated[float, msgspec.Meta(ge=0, le=sys.float_info.max)]


class SettingsError(Exception):
    """A setting is missing, unknown or invalid; the message names its key."""

    exit_code = Exit.USAGE


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


class SettingsTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table of the settings file."""


class Authenticate(SettingsTable, frozen=True):
    """How a token is obtained and sent: interface section 5 does not show it."""

    path: str
    encoding: Literal["json", "form", "basic", "headers", "none"]
    body: dict[str, str]
    token_pointer: str
    expires_in_pointer: str
    header: str
    scheme: str


class ListStores(SettingsTable, frozen=True):
    """How stores are listed: interface section 4.2 does not show it."""

    path: str
    items_pointer: str
    pagination: Literal["none", "link", "cursor", "page", "offset", "next_url", "last_id"]
    cursor_pointer: str
    cursor_is_optional: bool
    cursor_parameter: str
    first_page: NonNegativeInt
    query: dict[str, str]
    max_pages: PositiveInt
    max_seconds: PositiveFloat


class StoreRecord(SettingsTable, frozen=True):
    """Where a store record has its fields: interface section 2.3 does not show it."""

    path: str
    record_pointer: str
    id_pointer: str
    name_pointer: str
    timezone_pointer: str
    currency_pointer: str
    menu_id_pointers: tuple[str, ...]
    allowed_pointers: tuple[str, ...]


class Endpoint(SettingsTable, frozen=True):
    """The path of one operation."""

    path: str


class Partner(SettingsTable, frozen=True):
    """The partner service: its address, limits, timeouts and retries."""

    base_url: str
    proxy: str
    timeout_seconds: PositiveFloat
    connect_timeout_seconds: PositiveFloat
    max_concurrency: PositiveInt
    max_attempts: PositiveInt
    max_retry_after_seconds: NonNegativeFloat
    outage_timeout_seconds: PositiveFloat
    max_run_seconds: NonNegativeFloat
    authenticate: Authenticate
    list_stores: ListStores
    store: StoreRecord
    menu: Endpoint
    order: Endpoint
    client_id: Secret = Secret("")
    client_secret: Secret = Secret("")


class Landing(SettingsTable, frozen=True):
    """Limits and allow-lists of landing."""

    max_bytes: PositiveInt
    max_unpack_ratio: PositiveInt
    max_depth: PositiveInt
    max_order_parts: PositiveInt
    max_menu_parts: PositiveInt
    max_store_menus: PositiveInt
    excess_decimals: Literal["quarantine", "round"]
    lists_as_objects: bool
    allowed_pointers: tuple[str, ...]


class Privacy(SettingsTable, frozen=True):
    """Which texts are published, whether orders show whose they are, how long personal data is kept, erasures."""

    plaintext_fields: tuple[Literal["dispatch_note", "instructions", "confirmation_code", "tracking_url"], ...]
    known_fields: tuple[str, ...]
    customer_key: bool
    max_people_per_contact: PositiveInt
    country: str
    retention_days: NonNegativeInt
    erasure_log: str
    remove_releases: bool


class VaultSettings(SettingsTable, frozen=True):
    """Keys of the vault, and how long it keeps quarantined bodies."""

    quarantine_retention_days: PositiveInt
    key_file: str
    master_key: Secret = Secret("")
    lookup_secret: Secret = Secret("")


class Sales(SettingsTable, frozen=True):
    """Which statuses count as a sale: interface section 3 does not show it."""

    counted_statuses: tuple[str, ...]
    excluded_statuses: tuple[str, ...]


class Menus(SettingsTable, frozen=True):
    """What a product id means across menus."""

    product_id_scope: Literal["global", "per_menu"]


class OrderScope(SettingsTable, frozen=True):
    """The orders that a setting is about: an absent limit limits nothing."""

    platform: str | None = None
    dispatch_method: str | None = None
    store: int | None = None
    status: str | None = None
    first_day: dt.date | None = msgspec.field(default=None, name="from")
    last_day: dt.date | None = msgspec.field(default=None, name="to")
    when: str = ""

    @property
    def scope(self) -> tuple[Any, ...]:
        """Platform, dispatch method, store, status, first and last day, conditions."""
        limits = (self.platform, self.dispatch_method, self.store, self.status, self.first_day, self.last_day)
        return *limits, read_conditions(self.when)


class FormulaRule(OrderScope, frozen=True, kw_only=True):
    """A rule that is known: for these orders the evidence does not decide, but is measured all the same."""

    rule_target: Literal["subtotal", "total"]
    rule: str


class FormulaComponent(OrderScope, frozen=True, kw_only=True):
    """A part of prices that no field of the order states: a constant, a share of a base, a factor of prices, a step."""

    name: str
    constant: str = ""
    share: str = ""
    base: Literal[
        "",
        "subtotal",
        "subtotal_less_discount",
        "subtotal_less_all_discounts",
        "subtotal_and_delivery",
        "subtotal_and_delivery_less_all_discounts",
        "delivery",
        "tip",
        "discount",
        "loyalty",
        "discount_above_subtotal",
    ] = ""
    price_factor: str = ""
    step: str = ""
    round: Literal["", "order", "line", "half_even", "down", "up"] = ""


class Formula(SettingsTable, frozen=True):
    """How lines make a subtotal and amounts a total: the interface states no formula, the evidence decides."""

    total_rule: str
    subtotal_rule: str
    min_distinguishing_orders: PositiveInt
    max_violation_rate: float
    rule: tuple[FormulaRule, ...] = ()
    component: tuple[FormulaComponent, ...] = ()


class Finance(SettingsTable, frozen=True):
    """The currency of stores whose record names none, what other names are, and when two orders may be duplicates."""

    currency: str
    currency_codes: dict[str, str]
    duplicate_minutes: PositiveInt


class Closing(SettingsTable, frozen=True):
    """When a business day may be closed, by whom, and fiscal periods besides calendar months."""

    close_after_hours: NonNegativeFloat
    periods_file: str
    tolerance: dict[str, str]
    max_indeterminate: NonNegativeInt
    require_control_totals: bool
    replaced_orders: tuple[int, ...]
    approver: Literal["any", "another"]


class ReferenceSettings(SettingsTable, frozen=True):
    """CSV files of the user's own, published as schema ref; "": none."""

    stores: str
    products: str
    platforms: str


class ModelsSettings(SettingsTable, frozen=True):
    """The folder of the user's own tables ("": none), and how long, in how much memory and disk one may be made."""

    dir: str
    seconds: PositiveFloat
    memory_mib: PositiveInt
    disk_mib: PositiveInt


class Data(SettingsTable, frozen=True):
    """Where everything is written."""

    dir: str


class Daypart(SettingsTable, frozen=True):
    """A part of the day, and the hour at which it begins."""

    name: str
    from_hour: int = msgspec.field(name="from")


class BusinessDay(SettingsTable, frozen=True):
    """Which time of an order decides its business day, which times can be, where a day begins, and its dayparts."""

    time_field: Literal["created_at", "requested_time", "promised_delivery_time"]
    timezone: str
    day_start: str
    first_year: PositiveInt
    last_year: PositiveInt
    zone_changes: Literal["from now", "all"]
    dayparts: tuple[Daypart, ...]

    @property
    def possible_times(self) -> tuple[dt.datetime, dt.datetime]:
        """The first instant that an order may name, and the first after the last."""
        first, after = (dt.datetime(year, 1, 1, tzinfo=dt.UTC) for year in (self.first_year, self.last_year + 1))
        return first, after

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


class Warehouse(SettingsTable, frozen=True):
    """Resources of the build, and how many releases are kept."""

    buckets: NonNegativeInt
    memory_limit: str
    threads: NonNegativeInt
    keep_releases: PositiveInt


class EngineSettings(SettingsTable, frozen=True):
    """Where full builds make the rows of orders: in this process, or on the nodes of a Ray cluster."""

    name: Literal["local", "ray"]
    address: str
    task_memory: str


class ReleaseSettings(SettingsTable, frozen=True):
    """How often runs for webhooks publish, and how many nightly releases are kept besides the newest ones."""

    publish_every_minutes: NonNegativeFloat
    keep_nights: NonNegativeInt
    copies: tuple[str, ...]


class Verify(SettingsTable, frozen=True):
    """How much of a scheduled night goes into proving that the warehouse is what raw gives."""

    seconds: NonNegativeFloat
    read_seconds: NonNegativeFloat


class LedgerSettings(SettingsTable, frozen=True):
    """Where a copy of the ledger's signed head is kept."""

    witness: str


class Schedule(SettingsTable, frozen=True):
    """When the nightly job runs, and whether schedule and sensor are on as soon as Dagster's daemon starts."""

    cron: str
    timezone: str
    fresh_by: str
    is_on: bool


class DagsterPages(SettingsTable, frozen=True):
    """Where `ordermart dev` serves Dagster's pages, and by which other names they may be reached."""

    host: str
    port: int
    allowed_hosts: tuple[str, ...]
    keep_days: PositiveFloat
    max_run_hours: PositiveFloat


class Notify(SettingsTable, frozen=True):
    """Whom to tell when somebody is needed, and when that is."""

    webhook_format: Literal["json", "slack"]
    smtp_host: str
    smtp_port: int
    smtp_security: Literal["starttls", "none"]
    smtp_user: str
    mail_from: str
    mail_to: tuple[str, ...]
    silence_hours: NonNegativeFloat
    min_free_gb: NonNegativeFloat
    max_age_hours: NonNegativeFloat
    webhook_url: Secret = Secret("")
    smtp_password: Secret = Secret("")
    heartbeat_url: Secret = Secret("")


class WebhookSettings(SettingsTable, frozen=True):
    """How webhooks look and are signed, and limits of the receiver: interface section 6 does not show them.

    A location is "header:Name" or a JSON pointer into the body; "{kind}" in a pointer stands for order, menu or store.
    """

    host: str
    port: int
    path: str
    topic_locations: tuple[str, ...]
    id_locations: tuple[str, ...]
    delivery_id_locations: tuple[str, ...]
    signature: Literal["none", "standard_webhooks", "hmac_sha256"]
    signature_header: str
    signature_encoding: Literal["hex", "base64"]
    signature_prefix: str
    signing_template: str
    timestamp_header: str
    tolerance_seconds: PositiveInt
    max_bytes: PositiveInt
    max_stored_bytes: PositiveInt
    allow_unsigned_topic: bool
    trusted_proxies: tuple[str, ...]
    max_per_second: NonNegativeFloat
    queue_size: PositiveInt
    read_timeout_seconds: PositiveFloat
    retry_after_seconds: PositiveInt
    retention_days: PositiveInt
    secret: Secret = Secret("")


class Security(SettingsTable, frozen=True):
    """Doors that are closed unless somebody opens them."""

    allow_unsigned_webhooks: bool
    allow_plain_http: bool
    allow_readable_secrets: bool
    allow_open_ray: bool


class Planner(SettingsTable, frozen=True):
    """Which known orders are fetched again: interface section 3 does not show how statuses change."""

    final_statuses: tuple[str, ...]
    request_budget: NonNegativeInt
    hot_max_age_days: PositiveFloat
    hot_interval_hours: PositiveFloat
    warm_max_age_days: PositiveFloat
    warm_interval_hours: PositiveFloat
    cold_max_age_days: PositiveFloat
    cold_interval_hours: PositiveFloat
    sample_size: NonNegativeInt
    gap_probe: bool
    gap_budget: NonNegativeInt
    max_not_found_rate: float
    max_failed_rate: float
    max_rejected_attempts: PositiveInt


class Settings(SettingsTable, frozen=True):
    """All settings; `data_dir` is where everything is written."""

    partner: Partner
    landing: Landing
    privacy: Privacy
    vault: VaultSettings
    business_day: BusinessDay
    sales: Sales
    menus: Menus
    formula: Formula
    finance: Finance
    closing: Closing
    ledger: LedgerSettings
    reference: ReferenceSettings
    models: ModelsSettings
    data: Data
    warehouse: Warehouse
    engine: EngineSettings
    release: ReleaseSettings
    verify: Verify
    schedule: Schedule
    dagster: DagsterPages
    notify: Notify
    webhooks: WebhookSettings
    planner: Planner
    security: Security
    file: Path

    @property
    def data_dir(self) -> Path:
        """The folder that holds everything ordermart writes, absolute."""
        return (self.file.parent / self.data.dir).resolve()
