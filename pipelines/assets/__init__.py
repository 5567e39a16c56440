"""Thin Dagster functions over the other rooms: what to pull, the build, the release. Holds no rule of its own."""
