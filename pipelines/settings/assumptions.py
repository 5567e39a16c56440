"""List the interface's open questions, as docs/ASSUMPTIONS.md has them: section, assumption or settings, question."""

import functools
from typing import Any, NamedTuple

import msgspec

from pipelines.settings.setting_tables import Settings

# May contain a credential, which must not be published.
_HIDDEN = {"partner.authenticate.body", "partner.list_stores.query"}


class Assumption(NamedTuple):
    """One thing that the interface does not show.

    `section` is the interface's; `undocumented` is the row of docs/ASSUMPTIONS.md; `keys` are settings as table.key;
    `assumed` is the behaviour that no setting controls; `ask` is the question to the partner.
    """

    question: str
    section: str
    undocumented: str
    keys: tuple[str, ...]
    ask: str
    assumed: str = ""


def _keys(table: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{table}.{name}" for name in names)


_AUTH, _LIST, _STORE = "partner.authenticate", "partner.list_stores", "partner.store"
# fmt: off
ASSUMPTIONS: tuple[Assumption, ...] = (
    Assumption("base_address", "2", "base address", _keys("partner", "base_url", "proxy"),
               "Which base addresses does the service have, for stage and for production?"),
    Assumption("authenticate", "4.1", "path, request and response of Authenticate client",
               _keys(_AUTH, "path", "encoding", "body"),
               "Which path, request body and encoding does Authenticate client expect, and what does it return?"),
    Assumption("token_place", "4.1", "where the token is in the response", _keys(_AUTH, "token_pointer"),
               "Which field of the response of Authenticate client contains the token?"),
    Assumption("token_lifetime", "5", "token lifetime", _keys(_AUTH, "expires_in_pointer"),
               "How long is a token valid, and where does the response say so?"),
    Assumption("token_header", "5", 'how the token is sent ("bearer style", value `<ACCESS_TOKEN>`)',
               _keys(_AUTH, "header", "scheme"),
               "Does the Authorization header contain the bare token, or `Bearer` and the token?"),
    Assumption("token_refused", "5", "response to a missing or invalid token", (),
               "How does the service respond to a missing, expired or invalid token, and are there scopes?",
               "a 401, or an error that comes for all ids, renews the token once; a second 401 ends the run"),
    Assumption("store_list", "4.2", "how stores are listed", _keys(_LIST, "path", "items_pointer"),
               "Which path lists the stores, and where in the response is the array?"),
    Assumption("store_pages", "4.2", "pagination of the list",
               _keys(_LIST, "pagination", "cursor_pointer", "cursor_is_optional", "cursor_parameter", "first_page",
                     "query", "max_pages", "max_seconds"),
               "Is the list of stores paginated, and how is the next page requested?"),
    Assumption("store_path", "4.3", "path of a store's details", _keys(_STORE, "path", "record_pointer"),
               "Which path returns the details of one store?"),
    Assumption("store_record", "2.3", "the store record",
               _keys(_STORE, "id_pointer", "name_pointer", "timezone_pointer", "currency_pointer"),
               "Which fields does a store record have, of which types, and which may be null?"),
    Assumption("store_menus", "2.3", "which menus a store has", _keys(_STORE, "menu_id_pointers"),
               "How does a store name its menus, and may it have several at once?"),
    Assumption("store_personal", "2.3", "what in a store record is personal", _keys(_STORE, "allowed_pointers"),
               "Which fields of a store record are personal data?"),
    Assumption("listing", "4", "how to list orders and menus (there is no way)", (),
               "Is there a way to list menus, and orders by store and time? In which order are ids assigned?",
               "only ids that are requested explicitly or named by a webhook"),
    Assumption("sales", "3", "which statuses are sales", _keys("sales", "counted_statuses", "excluded_statuses"),
               "Which order statuses exist, and which of them mean that an order was paid and counts as a sale?"),
    Assumption("business_day", "2.1", "which time decides the business day",
               _keys("business_day", "time_field", "day_start"),
               "Which time decides the day on which you account for an order, and when does a day begin?"),
    Assumption("timezone", "2.3", "timezone of a store",
               (*_keys(_STORE, "timezone_pointer"), *_keys("business_day", "timezone")),
               "Does every store have a timezone, by its IANA name?"),
    Assumption("currency", "2", "currency", (*_keys(_STORE, "currency_pointer"), *_keys("finance", "currency")),
               "In which currency are the amounts of an order, and can one store have several?"),
    Assumption("decimals", "2", "rounding; decimals of money", _keys("landing", "excess_decimals"),
               "How many decimals may an amount have, and which amounts are rounded, how?"),
    Assumption("nulls", "2.1", "which fields may be null or absent", (),
               "Which fields may be null, and which may be left out? What does each mean?",
               "all but a document's own id and a menu's references"),
    Assumption("values", "2.1", "allowed values of coded fields", (),
               "What is the complete set of values of each coded field, and what does each value mean?",
               "every value is accepted as it is"),
    Assumption("new_fields", "9", "fields not documented", _keys("landing", "allowed_pointers"),
               "What do the fields mean that the document does not show, and do they hold personal data?"),
    Assumption("free_texts", "2.1", "free texts that may hold personal data", _keys("privacy", "plaintext_fields"),
               "May dispatch_note, instructions, confirmation_code and tracking_url hold personal data?"),
    Assumption("product_ids", "2.2", "whether a product id is the same product in every menu",
               _keys("menus", "product_id_scope"), "Is a product id the same product in every menu and store?"),
    Assumption("final_statuses", "3", "which statuses are final", _keys("planner", "final_statuses"),
               "After which statuses does an order no longer change, and how do statuses follow each other?"),
    Assumption("webhook_places", "6", "where a webhook names its topic, its id and itself",
               _keys("webhooks", "topic_locations", "id_locations", "delivery_id_locations"),
               "What do a webhook's headers and body look like, and which change sends which topic?"),
    Assumption("webhook_signing", "6", "how webhooks are signed",
               _keys("webhooks", "signature", "signature_header", "signature_encoding", "signature_prefix",
                     "signing_template", "timestamp_header", "tolerance_seconds"),
               "How are webhooks signed, and how often and for how long is a failed one resent?"),
    Assumption("webhook_answers", "6", "which answer a webhook wants, how soon, and what is sent again",
               _keys("webhooks", "read_timeout_seconds", "max_bytes", "queue_size", "retry_after_seconds"),
               "Which response does a webhook expect, how soon, and are webhooks resent, duplicated or out of order?",
               "2xx once it is on disk, 202 if it cannot be decoded, 503 if the queue is full"),
    Assumption("day_complete", "3", "when a day's orders are complete", _keys("closing", "close_after_hours"),
               "How long after a business day can its orders still appear or change?"),
    Assumption("total_formula", "2.1", "total formula", _keys("formula", "total_rule"),
               "By which formula does total_price follow from the other amounts?",
               "the observed formula is checked, and warns"),
    Assumption("subtotal_formula", "2.1", "how lines make the subtotal: price per unit or line, modifiers, rounding",
               _keys("formula", "subtotal_rule"),
               "By which formula does subtotal_price follow from the lines and their modifiers?",
               "the rule that orders support; until then no line has an amount"),
    Assumption("limits", "8", "rate limits, and which failures pass",
               _keys("partner", "max_concurrency", "max_attempts", "max_retry_after_seconds"),
               "Which rate limits apply, and how does the service report that one was reached?"),
    Assumption("sizes", "8", "size limits",
               _keys("landing", "max_bytes", "max_depth", "max_order_parts", "max_menu_parts", "max_store_menus"),
               "How large can a response be?"),
    Assumption("timeouts", "8", "timeouts", _keys("partner", "timeout_seconds", "connect_timeout_seconds"),
               "How long may a response take?"),
    Assumption("ids", "4.4 and 4.5", "type of ids in paths", (),
               "Are all ids integers, of at most 64 bits, and never used twice?", "64-bit integers"),
    Assumption("errors", "7", "body of an error, and other status codes", (),
               "Which status codes are used, and what do the bodies of errors look like?",
               "the status decides; only the keys of an error's body are recorded"),
    Assumption("deleted", "4.5", "what a 404 for a known order means", (),
               "Can an order disappear, and does a 404 mean that it was deleted?",
               "three 404s, each an hour apart, mean that the order was deleted"),
    Assumption("business_rules", "1", "other purposes or business rules", (),
               "Which business rules hold for orders and menus that the document does not state?",
               "none: stated rules are checked, and warn"),
    Assumption("webhook_registration", "6", "registration of a receiving address", (),
               "How is the receiving address of webhooks registered, and can there be several?",
               "you tell the partner where the receiver is"),
    Assumption("versions", "9", "versioning policy", (), "What may change within /v1, and how is a change announced?",
               "new fields may come at any time; a new path is a new version"),
)
# fmt: on


def assumptions(settings: Settings) -> list[tuple[int, Assumption, str]]:
    """Return every assumption with its number, from 1, and the current settings: `[table] key = value; …`."""
    return [
        (number, row, "; ".join([*(_set(key, settings) for key in row.keys), *filter(None, [row.assumed])]))
        for number, row in enumerate(ASSUMPTIONS, 1)
    ]


def _set(key: str, settings: Settings) -> str:
    """Return a key with its value, as `[table] key = value`."""
    *tables, name = key.split(".")
    value: Any = functools.reduce(getattr, [*tables, name], settings)
    if key == "partner.base_url":  # a part before @ would be a credential
        value = value.rpartition("@")[2]
    shown = f"(with {', '.join(sorted(value))})" if value and key in _HIDDEN else msgspec.json.encode(value).decode()
    return f"[{'.'.join(tables)}] {name} = {shown}"
