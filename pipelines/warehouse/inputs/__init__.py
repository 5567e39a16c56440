"""Give a build its inputs: schema `raw`, filled from landed files, the ledger, logs and settings."""
