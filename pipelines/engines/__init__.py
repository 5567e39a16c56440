"""Map a function over the parts of a full build, on machines of a cluster."""

from pipelines.engines.engine import Engine, EngineError
from pipelines.engines.ray_cluster import engine_of

__all__ = ["Engine", "EngineError", "engine_of"]
