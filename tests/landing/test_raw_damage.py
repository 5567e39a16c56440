"""Raw files that are damaged or lost: a build names them, landing goes on, and restored files count again."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.inventory import accept
from pipelines.landing.merge import merge_days
from pipelines.landing.raw_folder import LandingError, RawDamageError, check_raw, raw_files
from pipelines.landing.reprocess import reprocess_quarantine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.landing.raw_rows import LoadSummary
    from pipelines.settings import Settings
    from pipelines.vault import Vault

    Land = Callable[..., LoadSummary]

TOMORROW = dt.date.max


def cut(path: Path) -> None:
    """Leave out the end of a file."""
    path.write_bytes(path.read_bytes()[:-10])


def alter(path: Path) -> None:
    """Change one bit of a file, at its place and size."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def lose(path: Path) -> None:
    """Remove a file."""
    path.unlink()


@pytest.fixture
def loads(land: Land) -> list[str]:
    """Land three loads of orders, which no build has seen yet."""
    return [land("orders", {"id": number, "tip": number}).load_id for number in (1, 2, 3)]


def file_of(settings: Settings, area: str, load_id: str) -> Path:
    """Return a load's own file."""
    return settings.data_dir / "raw" / area / "orders" / f"{load_id}.parquet"


@pytest.mark.parametrize("area", ["documents", "observations"])
@pytest.mark.parametrize("damage", [cut, alter, lose])
def test_damage_before_the_first_build_is_named(
    settings: Settings, loads: list[str], land: Land, area: str, damage: Callable[[Path], None]
) -> None:
    """A file is known from its landing on: cut, altered or lost, it is named; loads go on; restored, all is well."""
    path = file_of(settings, area, loads[1])
    content = path.read_bytes()
    damage(path)
    with pytest.raises(RawDamageError, match=f"{area}/orders/{loads[1]}.*estore them from a backup"):
        check_raw(settings.data_dir, hashes=True)
    assert land("orders", {"id": 4}).counts["accepted"] == 1
    with pytest.raises(RawDamageError, match=loads[1]):
        check_raw(settings.data_dir, hashes=True)
    path.write_bytes(content)
    check_raw(settings.data_dir, hashes=True)
    assert set(loads) < set(raw_files(settings.data_dir, "orders").load_ids)
    assert land("orders", {"id": 2, "tip": 2}).counts["unchanged"] == 1


def test_both_files_of_a_load_lost_are_named(settings: Settings, loads: list[str]) -> None:
    """A load that is gone as a whole was landed all the same."""
    for area in ("documents", "observations"):
        file_of(settings, area, loads[0]).unlink()
    with pytest.raises(RawDamageError) as error:
        check_raw(settings.data_dir)
    assert f"raw/documents/orders/{loads[0]}.parquet (missing)" in str(error.value)
    assert f"raw/observations/orders/{loads[0]}.parquet (missing)" in str(error.value)


def test_documents_whose_observations_were_lost_are_kept(settings: Settings, loads: list[str], land: Land) -> None:
    """The next load sweeps what was killed, and no document that had counted."""
    path = file_of(settings, "observations", loads[0])
    content = path.read_bytes()
    path.unlink()
    land("orders", {"id": 9})
    assert file_of(settings, "documents", loads[0]).exists()
    path.write_bytes(content)
    check_raw(settings.data_dir, hashes=True)


def test_many_damaged_files_are_counted(settings: Settings, land: Land) -> None:
    """Five are named, and how many more there are is said."""
    for number in range(4):
        cut(file_of(settings, "documents", land("orders", {"id": number}).load_id))
        cut(file_of(settings, "observations", raw_files(settings.data_dir, "orders").load_ids[-1]))
    with pytest.raises(RawDamageError, match="and 3 more"):
        check_raw(settings.data_dir)


def test_index_is_rebuilt_beside_a_damaged_file(settings: Settings, loads: list[str], land: Land) -> None:
    """Without its index too, a load reads what it can; the damaged file is read once it was restored."""
    path = file_of(settings, "observations", loads[0])
    content = path.read_bytes()
    cut(path)
    for file in (settings.data_dir / "raw" / "index").iterdir():
        file.unlink()
    counts = land("orders", {"id": 1, "tip": 1}, {"id": 2, "tip": 2}).counts
    assert (counts["accepted"], counts["unchanged"]) == (1, 1)
    path.write_bytes(content)
    assert land("orders", {"id": 1, "tip": 1}).counts["unchanged"] == 1


@pytest.mark.parametrize("area", ["documents", "observations"])
def test_damage_is_not_merged(settings: Settings, loads: list[str], area: str) -> None:
    """A day with a damaged file stays as it is; restored, it is merged, and the merged pair is known at once."""
    path = file_of(settings, area, loads[1])
    content = path.read_bytes()
    alter(path)
    with pytest.raises(RawDamageError, match=loads[1]):
        merge_days(settings.data_dir, "orders", TOMORROW)
    assert len(raw_files(settings.data_dir, "orders").observations) == 3
    path.write_bytes(content)
    assert merge_days(settings.data_dir, "orders", TOMORROW) == 3
    (merged,) = raw_files(settings.data_dir, "orders").documents
    alter(merged.path)
    with pytest.raises(RawDamageError, match=merged.path.name):
        check_raw(settings.data_dir, hashes=True)


def test_merged_pair_or_its_manifest_lost_is_named(settings: Settings, loads: list[str], land: Land) -> None:
    """Merging again is no damage; a merged file, or the manifest that names it, lost or garbled, is."""
    merge_days(settings.data_dir, "orders", TOMORROW)
    check_raw(settings.data_dir)
    land("orders", {"id": 5})
    merge_days(settings.data_dir, "orders", TOMORROW)
    check_raw(settings.data_dir)
    (observations,) = raw_files(settings.data_dir, "orders").observations
    content = observations.path.read_bytes()
    observations.path.unlink()
    with pytest.raises(RawDamageError, match=f"{observations.path.name} .missing"):
        check_raw(settings.data_dir)
    observations.path.write_bytes(content)
    manifest = settings.data_dir / "raw" / "merged-orders.json"
    named = manifest.read_bytes()
    manifest.unlink()
    with pytest.raises(RawDamageError, match=r"raw/merged-orders\.json"):
        check_raw(settings.data_dir)
    manifest.write_bytes(named[:-5])
    with pytest.raises(LandingError, match=r"merged-orders\.json"):
        check_raw(settings.data_dir)
    manifest.write_bytes(named)
    check_raw(settings.data_dir, hashes=True)


def test_readers_of_raw_name_what_they_cannot_read(settings: Settings, vault: Vault, land: Land) -> None:
    """Reprocessing ends with the file's name, not with an error of Parquet."""
    load_id = land("menus", b"{}").load_id
    path = settings.data_dir / "raw" / "observations" / "menus" / f"{load_id}.parquet"
    cut(path)
    with pytest.raises(RawDamageError, match=load_id):
        reprocess_quarantine(settings, vault)


def test_loss_that_is_accepted_is_named_no_more(settings: Settings, loads: list[str]) -> None:
    """Files are noted as they are now: so a run goes on without the lost ones."""
    file_of(settings, "documents", loads[0]).unlink()
    file_of(settings, "observations", loads[0]).unlink()
    accept(settings.data_dir)
    check_raw(settings.data_dir)
    path: Any = file_of(settings, "documents", loads[1])
    alter(path)
    with pytest.raises(RawDamageError, match=loads[1]):
        check_raw(settings.data_dir, hashes=True)
