"""Serve Dagster's own pages behind the guard: `python -m pipelines.assets.pages HOST PORT [ALLOWED_HOST …]`.

Started by `ordermart dev`. Uses the application that `dagster-webserver` itself serves.
"""

from __future__ import annotations

import sys

CODE = "pipelines.definitions"
_SHUTDOWN_SECONDS = 3  # for requests under way; open websockets are cut


def serve(host: str, port: int, allowed: list[str]) -> None:
    """Serve the pages until SIGTERM or SIGINT."""
    # Dagster's web server looks for a free port when it is imported.
    import uvicorn  # noqa: PLC0415
    from dagster import DagsterInstance  # noqa: PLC0415
    from dagster._core.workspace.context import WorkspaceProcessContext  # noqa: PLC0415
    from dagster._core.workspace.load_target import ModuleTarget  # noqa: PLC0415
    from dagster_webserver.app import create_app_from_workspace_process_context  # noqa: PLC0415
    from dagster_webserver.version import __version__  # noqa: PLC0415

    from pipelines.assets.guard import Guard, served_hosts  # noqa: PLC0415

    with (
        DagsterInstance.get() as instance,
        WorkspaceProcessContext(
            instance,
            version=__version__,
            workspace_load_target=ModuleTarget(CODE, None, None, "ordermart"),
        ) as context,
    ):
        instance.optimize_for_webserver(statement_timeout=15_000, pool_recycle=3600, max_overflow=20)
        pages = create_app_from_workspace_process_context(context)
        uvicorn.run(
            Guard(pages, served_hosts(host, port, allowed)),
            host=host,
            port=port,
            log_level="warning",
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
