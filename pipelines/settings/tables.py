"""Declare every table and key of ordermart.toml, with its type.

Knows neither the file nor the environment, nor the use of settings.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Literal

import msgspec

from pipelines.settings.business_day import BusinessDay
from pipelines.settings.operations import (
    DagsterPages,
    EngineSettings,
    LedgerSettings,
    Notify,
    Planner,
    ReleaseSettings,
    Schedule,
    Security,
    Verify,
    Warehouse,
    Webhooks,
)
from pipelines.settings.table import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, Secret, Table


class Authenticate(Table, frozen=True):
    """How a token is obtained and sent: interface section 5 does not show it."""

    path: str
    encoding: Literal["json", "form", "basic"]
    body: dict[str, str]
    token_pointer: str
    expires_in_pointer: str
    header: str
    scheme: str


class ListStores(Table, frozen=True):
    """How stores are listed: interface section 4.2 does not show it."""

    path: str
    items_pointer: str
    pagination: Literal["none", "link", "cursor", "page"]
    cursor_pointer: str
    cursor_parameter: str
    first_page: NonNegativeInt
    max_pages: PositiveInt
    max_seconds: PositiveFloat


class StoreRecord(Table, frozen=True):
    """Where a store record has its fields: interface section 2.3 does not show it."""

    path: str
    id_pointer: str
    name_pointer: str
    timezone_pointer: str
    currency_pointer: str
    menu_id_pointers: tuple[str, ...]
    allowed_pointers: tuple[str, ...]


class Endpoint(Table, frozen=True):
    """The path of one operation."""

    path: str


class Partner(Table, frozen=True):
    """The partner service: its address, limits, timeouts and retries."""

    base_url: str
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


class Landing(Table, frozen=True):
    """Limits and allow-lists of landing."""

    max_bytes: PositiveInt
    max_unpack_ratio: PositiveInt
    max_depth: PositiveInt
    max_order_parts: PositiveInt
    max_menu_parts: PositiveInt
    max_store_menus: PositiveInt
    excess_decimals: Literal["quarantine", "round"]
    allowed_pointers: tuple[str, ...]


class Privacy(Table, frozen=True):
    """Which texts are published, whether orders show whose they are, how long personal data is kept, erasures."""

    plaintext_fields: tuple[Literal["dispatch_note", "instructions", "confirmation_code", "tracking_url"], ...]
    known_fields: tuple[str, ...]
    customer_key: bool
    retention_days: NonNegativeInt
    erasure_log: str
    remove_releases: bool


class VaultSettings(Table, frozen=True):
    """Keys of the vault, and how long it keeps quarantined bodies."""

    quarantine_retention_days: PositiveInt
    key_file: str
    master_key: Secret = Secret("")
    lookup_secret: Secret = Secret("")


class Sales(Table, frozen=True):
    """Which statuses count as a sale: interface section 3 does not show it."""

    counted_statuses: tuple[str, ...]
    excluded_statuses: tuple[str, ...]


class Menus(Table, frozen=True):
    """What a product id means across menus."""

    product_id_scope: Literal["global", "per_menu"]


class OrderScope(Table, frozen=True):
    """The orders that a setting is about: an absent limit limits nothing."""

    platform: str | None = None
    dispatch_method: str | None = None
    store: int | None = None
    status: str | None = None
    first_day: dt.date | None = msgspec.field(default=None, name="from")
    last_day: dt.date | None = msgspec.field(default=None, name="to")

    @property
    def scope(self) -> tuple[str | int | dt.date | None, ...]:
        """Platform, dispatch method, store, status, first and last day."""
        return self.platform, self.dispatch_method, self.store, self.status, self.first_day, self.last_day


class FormulaRule(OrderScope, frozen=True, kw_only=True):
    """A rule that is known: for these orders the evidence does not decide, but is measured all the same."""

    rule_target: Literal["subtotal", "total"]
    rule: str


class FormulaComponent(OrderScope, frozen=True, kw_only=True):
    """A part of the total that no field of the order states: a constant, or a share of a base."""

    name: str
    constant: str = ""
    share: str = ""
    base: Literal["", "subtotal", "subtotal_less_discount", "delivery", "tip", "discount", "loyalty"] = ""


class Formula(Table, frozen=True):
    """How lines make a subtotal and amounts a total: the interface states no formula, the evidence decides."""

    total_rule: str
    subtotal_rule: str
    min_distinguishing_orders: PositiveInt
    max_violation_rate: float
    rule: tuple[FormulaRule, ...] = ()
    component: tuple[FormulaComponent, ...] = ()


class Finance(Table, frozen=True):
    """The currency of stores whose record names none, and when two orders may be duplicates."""

    currency: str
    duplicate_minutes: PositiveInt


class Closing(Table, frozen=True):
    """When a business day may be closed, by whom, and fiscal periods besides calendar months."""

    close_after_hours: NonNegativeFloat
    periods_file: str
    tolerance: dict[str, str]
    max_indeterminate: NonNegativeInt
    require_control_totals: bool
    approver: Literal["any", "another"]


class Reference(Table, frozen=True):
    """CSV files of the user's own, published as schema ref; "": none."""

    stores: str
    products: str
    platforms: str


class Data(Table, frozen=True):
    """Where everything is written."""

    dir: str


class Settings(Table, frozen=True):
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
    reference: Reference
    data: Data
    warehouse: Warehouse
    engine: EngineSettings
    release: ReleaseSettings
    verify: Verify
    schedule: Schedule
    dagster: DagsterPages
    notify: Notify
    webhooks: Webhooks
    planner: Planner
    security: Security
    file: Path

    @property
    def data_dir(self) -> Path:
        """The folder that holds everything ordermart writes, absolute."""
        return (self.file.parent / self.data.dir).resolve()
