"""Contract of what was proven: parts of the warehouse that were built again from raw and compared."""

from pipelines.warehouse.contracts.contract import Contract, Count, Day, Flag, Id, Instant, Text, column

PARTS = ("orders", "day", "entities", "all")


class Verifications(Contract, table="audit.verifications", scope="all", key=("verification_no",)):
    """One row per part of the warehouse that was verified: what was proven, and when.

    Source: the log of `ordermart verify` and of the nights, beside the warehouse. A rebuild keeps it.
    Caveats: a verification follows the release that it compares, so each is in the next release. A part proves the
    tables that have rows for its orders (and its day); tables over all orders are proven by part all alone.
    """

    verification_no: Count = column("The number of the verification, from 1.", ge=1)
    part: Text = column(
        "orders: tables by order, for a range of ids. day: the same and tables by day, for the orders of a business "
        "day. entities: tables by store and menu. all: every table.",
        isin=PARTS,
    )
    first_order_id: Id = column("The first id of the range; null unless part is orders.", nullable=True)
    last_order_id: Id = column("The last id of the range, itself included; null unless part is orders.", nullable=True)
    business_date: Day = column("The business day; null unless part is day.", nullable=True)
    order_count: Count = column("How many orders were built again and compared.", ge=0)
    table_count: Count = column("How many tables were compared.", ge=0)
    is_proven: Flag = column("Whether every row was the same.")
    difference_count: Count = column("In how many tables and places (warehouse, release) a row differed.", ge=0)
    first_difference: Text = column("Table, key and column of the first difference; null without one.", nullable=True)
    is_latest: Flag = column("Whether it is the latest verification that starts at this id, or is of this day.")
    verified_at: Instant = column("When it ended.")
    duration_ms: Count = column("Milliseconds that it took.", ge=0)
    release_id: Text = column("The release that was compared too; null where only the warehouse was.", nullable=True)
