"""Tables of users' own: `models/<name>.sql` becomes `own.<name>`, made after mart, beside it and never in its way."""

from pipelines.warehouse.own.making import Tried, check_models, remade, run_tests
from pipelines.warehouse.own.models import new_model, read_model, read_models

__all__ = ["Tried", "check_models", "new_model", "read_model", "read_models", "remade", "run_tests"]
