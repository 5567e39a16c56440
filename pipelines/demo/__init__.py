"""The demo: the whole job on the sandbox, for a first look at a fresh clone."""

from pipelines.demo.nights import run_demo, service_of

__all__ = ["run_demo", "service_of"]
