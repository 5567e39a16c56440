"""Prove that the warehouse and the current release are what a full build makes of `raw/` and `ledger/`.

A sample, or everything, is built again into a file of its own and compared row by row.
"""

from pipelines.warehouse.verify.rebuilt_sample import Difference
from pipelines.warehouse.verify.verify import Verification, VerifyError, verify_all, verify_days, verify_next

__all__ = ["Difference", "Verification", "VerifyError", "verify_all", "verify_days", "verify_next"]
