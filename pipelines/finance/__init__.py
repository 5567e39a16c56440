"""Finance: reconcile, close business days, record restatements of closed days."""
