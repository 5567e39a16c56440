"""Find out how a partner service answers, prove each answer before it is written, and examine a service by settings."""
