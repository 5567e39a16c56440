"""Declare the tables of ordermart.toml about how it runs: resources, schedule, alarms, webhooks, the nightly plan.

Knows neither the file nor the environment, nor the use of settings.
"""

from __future__ import annotations

from typing import Literal

from pipelines.settings.table import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, Secret, Table


class Warehouse(Table, frozen=True):
    """Resources of the build, and how many releases are kept."""

    buckets: NonNegativeInt
    memory_limit: str
    threads: NonNegativeInt
    keep_releases: PositiveInt


class EngineSettings(Table, frozen=True):
    """Where full builds make the rows of orders: in this process, or on the nodes of a Ray cluster."""

    name: Literal["local", "ray"]
    address: str
    task_memory: str


class ReleaseSettings(Table, frozen=True):
    """How often runs for webhooks publish, and how many nightly releases are kept besides the newest ones."""

    publish_every_minutes: NonNegativeFloat
    keep_nights: NonNegativeInt


class Verify(Table, frozen=True):
    """How much of a scheduled night goes into proving that the warehouse is what raw gives."""

    seconds: NonNegativeFloat
    read_seconds: NonNegativeFloat


class LedgerSettings(Table, frozen=True):
    """Where a copy of the ledger's signed head is kept."""

    witness: str


class Schedule(Table, frozen=True):
    """When the nightly job runs, and whether schedule and sensor are on as soon as Dagster's daemon starts."""

    cron: str
    timezone: str
    fresh_by: str
    is_on: bool


class DagsterPages(Table, frozen=True):
    """Where `ordermart dev` serves Dagster's pages, and by which other names they may be reached."""

    host: str
    port: int
    allowed_hosts: tuple[str, ...]
    keep_days: PositiveFloat
    max_run_hours: PositiveFloat


class Notify(Table, frozen=True):
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


class Webhooks(Table, frozen=True):
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
    max_per_second: NonNegativeFloat
    queue_size: PositiveInt
    read_timeout_seconds: PositiveFloat
    retry_after_seconds: PositiveInt
    retention_days: PositiveInt
    secret: Secret = Secret("")


class Security(Table, frozen=True):
    """Doors that are closed unless somebody opens them."""

    allow_unsigned_webhooks: bool
    allow_plain_http: bool
    allow_readable_secrets: bool
    allow_open_ray: bool


class Planner(Table, frozen=True):
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
