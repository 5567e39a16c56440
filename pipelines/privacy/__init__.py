"""The rights of the people whose orders these are: erase, reveal and export personal data.

Downstream of vault, raw, ledger and releases, which each erase their own part.
"""

from pipelines.privacy.access import Asked, PrivacyError, export, reveal, rotate_keys, undocumented
from pipelines.privacy.erasure import Erasure, erase, finish_erasure, forget_request, remove_old_releases

__all__ = [
    "Asked",
    "Erasure",
    "PrivacyError",
    "erase",
    "export",
    "finish_erasure",
    "forget_request",
    "remove_old_releases",
    "reveal",
    "rotate_keys",
    "undocumented",
]
