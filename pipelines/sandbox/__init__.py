"""A stand-in partner service: a seeded world of restaurants over HTTP, with known faults; knows no pipeline."""
