"""Contracts of stores and of the menus that their records name."""

from pipelines.warehouse.contracts.contract import Contract, Count, Flag, Id, Instant, Text, column

_LOAD = "The load of that observation."


class Stores(Contract, table="core.stores", scope="store", key=("store_id",)):
    """One row per store, as its record was last observed.

    Source: the store record; the interface shows no field of it, so [partner.store] says where each one stands.
    Caveats: timezone is the record's own text and may name no zone that exists: mart.orders says which zone was used.
    Currency is a label, never a factor. A store that an order names but no listing showed has no row here.
    """

    store_id: Id = column("The store, as the service numbers it.")
    name: Text = column("The store's name, where [partner.store] name_pointer finds one.", nullable=True)
    timezone: Text = column(
        "The store's timezone as sent, unjudged; null where the record gives none or timezone_pointer is empty.",
        nullable=True,
    )
    currency: Text = column(
        "What its amounts are in, as sent; null where the record gives none or currency_pointer is empty.",
        nullable=True,
    )
    attributes: Text = column(
        "JSON: those parts of the record that [partner.store] allowed_pointers declares free of personal data.",
        nullable=True,
    )
    is_deleted: Flag = column(
        "Whether the service answered 404 at least three times, an hour apart or more, since it last knew the store."
    )
    fetched_at: Instant = column(
        "When this version of the record was first observed; null for an archive of unknown time.",
        named="_fetched_at",
        nullable=True,
    )
    load_id: Text = column(_LOAD, named="_load_id")
    payload_sha256: Text = column("SHA-256 of the record as kept.", named="_payload_sha256")


class StoreMenus(Contract, table="core.store_menus", scope="store", key=("store_id", "menu_id")):
    """One row per store and menu that the store's record names.

    Source: the places of the store record that [partner.store] menu_id_pointers names.
    Caveats: a store may have several menus and a menu several stores: joined to orders by store_id it multiplies them.
    The menu need not have been fetched.
    """

    store_id: Id = column("The store, as the service numbers it.")
    menu_id: Id = column("The menu, as the service numbers it.")
    mention_count: Count = column("How many times the record names this menu; more than 1 is odd, not wrong.", ge=1)
    load_id: Text = column(_LOAD, named="_load_id")
