"""Run a night, or the ids of webhooks: plain steps over a record, one way for command, schedule and demo."""
