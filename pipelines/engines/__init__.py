"""Map a function over the parts of a full build, on machines of a cluster.

Knows nothing of what is built: a part is a function and a value, both small, and what they work on lies in files.
"""

from pipelines.engines.engine import Engine, EngineError
from pipelines.engines.ray_cluster import engine_of

__all__ = ["Engine", "EngineError", "engine_of"]
