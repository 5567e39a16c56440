"""Contract of the violations of warning checks, row by row."""

from pipelines.warehouse.contracts.contract import Amount, Contract, Id, Text, column


class Findings(Contract, table="audit.findings", scope="check", key=()):
    """One row per violation of a check that warns.

    Source: the selects of sql/checks/ with severity warning, kept up to date with the rows that they are about.
    Caveats: the rows are published as the partner sent them; a finding corrects nothing. One check may list an
    entity several times, once per location.
    """

    check_name: Text = column("The claim that does not hold: its file in sql/checks/ without .sql.")
    table_name: Text = column("The table that the claim is about.")
    entity_id: Id = column(
        "The order, menu or store (see the table) in which it does not hold; null where it is about none of them.",
        nullable=True,
    )
    location: Text = column("Where in that entity, such as 'line 2, modifier 1'.", nullable=True)
    residual: Amount = column("By how much an amount is off; null where no amount is.", nullable=True)
    detail: Text = column("Codes and ids that help to find the cause.", nullable=True)
