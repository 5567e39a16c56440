"""Contracts of stores and of the menus that their records name."""

from pipelines.warehouse.contracts.contract import Contract, Count, Flag, Id, Instant, Text, column

_LOAD = "The load that brought this version."


class Stores(Contract, table="core.stores", scope="store", key=("store_id",)):
    """One row per store, as its record was last observed.

    Source: the store record; the interface does not document its fields, so [partner.store] locates them.
    Caveats: timezone is as sent and may be invalid: mart.orders has the zone that was used. Currency is a label;
    nothing is converted. A store named by an order but never listed has no row here.
    """

    store_id: Id = column("The store's id.")
    name: Text = column("The store's name, if [partner.store] name_pointer finds one.", nullable=True)
    timezone: Text = column(
        "The store's time zone as sent, not validated; null if the record has none or timezone_pointer is empty.",
        nullable=True,
    )
    currency: Text = column(
        "The currency of its amounts, as sent; null if the record has none or currency_pointer is empty.",
        nullable=True,
    )
    attributes: Text = column(
        "JSON: the fields of the record that [partner.store] allowed_pointers declares free of personal data.",
        nullable=True,
    )
    is_deleted: Flag = column(
        "Whether the store is deleted at source: at least three 404s, an hour or more apart, since the last answer."
    )
    fetched_at: Instant = column(
        "When this version of the record was first observed; null if an archive has no time.",
        named="_fetched_at",
        nullable=True,
    )
    load_id: Text = column(_LOAD, named="_load_id")
    payload_sha256: Text = column("SHA-256 of the record as stored.", named="_payload_sha256")


class StoreMenus(Contract, table="core.store_menus", scope="store", key=("store_id", "menu_id")):
    """One row per store and menu that the store's record names.

    Source: the fields of the store record at [partner.store] menu_id_pointers.
    Caveats: a store may have several menus and a menu several stores: a join to orders by store_id multiplies them. The
    menu need not have been fetched.
    """

    store_id: Id = column("The store's id.")
    menu_id: Id = column("The menu's id.")
    mention_count: Count = column("How many times the record names this menu; above 1 is unusual but valid.", ge=1)
    load_id: Text = column(_LOAD, named="_load_id")
