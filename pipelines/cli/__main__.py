"""`python -m pipelines.cli` is `ordermart`."""

from pipelines.cli import main

main()
