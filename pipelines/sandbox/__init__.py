"""A stand-in partner service: a seeded world of restaurants, served over HTTP, with known faults.

Knows the partner's interface and nothing of the pipeline that reads it.
"""
