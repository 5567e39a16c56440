"""Which ids to fetch, why and when: work list, webhook receiver and re-fetch planner.

Knows nothing of what the documents say: a hint is an id, never data.
"""
