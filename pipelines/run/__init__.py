"""Run a night, or what webhooks named: plain steps over a record, one way for the command, the schedule and the demo.

Knows nothing of Dagster, which calls the same steps, nor of the command line.
"""
