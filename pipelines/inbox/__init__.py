"""Decide which ids to fetch, why and when: work list, webhook receiver and planner."""
