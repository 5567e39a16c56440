"""Generate the checks that core tables lost nothing of a document: counts and sums against those of validation."""

from __future__ import annotations

from pipelines.landing.shape import COUNTS, SHAPES, SUMS, ArrayField, MapField
from pipelines.settings.kinds import ENTITIES
from pipelines.warehouse.catalogue.documents import HELD, held_fields
from pipelines.warehouse.catalogue.templates import filled


def match_validation(kind: str) -> str:
    """Return the check of one kind; of each document it reports the first difference."""
    entity = ENTITIES[kind]
    key = f"{entity}_id"
    own = next(iter(HELD[kind]))  # the path of the document's own row
    counted = {
        f"{path}/{field.name}/*": field.counted_as
        for path, field in SHAPES[kind].walk()
        if isinstance(field, ArrayField | MapField)
    }
    amounts: dict[str, list[str]] = {}
    parts, joins, counts = [], [], {}
    for number, (path, columns) in enumerate(held_fields(kind).items()):
        held, alias = HELD[kind][path], "own" if path == own else f"part_{number}"
        money = [(field.adds_to, column) for field, column in columns.items() if field.leaf == "money"]
        for adds_to, column in money:
            # a missing amount adds nothing, here as in validation; wider than an amount, so that no sum overflows
            amounts.setdefault(adds_to, []).append(f"coalesce(cast({alias}.{column} as decimal(38, 4)), 0)")
        if path != own:
            counts[counted[path]] = f"coalesce({alias}.elements, 0)"
            sums = "".join(f", sum(facts.{column}) as {column}" for _, column in money)
            parts.append(
                f"{alias} as (\n    select {key}, count(*) as elements{sums}\n"
                f"    from {held.table} as facts where {held.where} group by {key}\n),"
            )
            joins.append(f"    left join {alias} on latest.{key} = {alias}.{key}")
    differences = [
        *(_difference(name, counts[name], is_count=True) for name in COUNTS[kind]),
        *(_difference(name, " + ".join(amounts.get(name, ["0"])), is_count=False) for name in SUMS[kind]),
    ]
    return filled(
        "match_validation",
        entity=entity,
        key=key,
        kind=kind,
        own=HELD[kind][own].table,
        lines="\n".join(parts),
        joins="\n".join(joins),
        differences=", ".join(differences),
    )


def _difference(name: str, held: str, *, is_count: bool) -> str:
    difference = f"cast({held} - latest.validated_{name} as decimal(38, 4))"
    location = name.replace("_", " ")
    return f"{{'location': '{location}', 'difference': {difference}, 'is_count': {str(is_count).lower()}}}"
