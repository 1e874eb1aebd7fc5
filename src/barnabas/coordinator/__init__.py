"""Groups of consumers and their offsets: decisions made from a log, and written to it."""
