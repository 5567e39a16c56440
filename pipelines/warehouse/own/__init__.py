"""Tables of users' own: `models/<name>.sql` becomes `own.<name>`, made after mart, beside it and never in its way."""
