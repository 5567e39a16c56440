"""Decide which ids to fetch, why and when: work list, webhook receiver and planner.

Knows nothing of documents: a webhook notification is an id, never data.
"""
