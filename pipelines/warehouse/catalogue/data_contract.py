"""Write docs/contract.odcs.yaml: the same text that a release holds.

python -m pipelines.warehouse.catalogue.data_contract
"""

from __future__ import annotations

from pathlib import Path

from pipelines.warehouse.catalogue.odcs import NAME, odcs

FILE = Path(__file__).resolve().parents[3] / "docs" / NAME

if __name__ == "__main__":
    FILE.write_text(odcs(), encoding="utf-8")
