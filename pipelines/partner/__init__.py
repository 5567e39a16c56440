"""The HTTP client of the partner service: authentication, requests, retries, limits, errors; it returns bytes."""
