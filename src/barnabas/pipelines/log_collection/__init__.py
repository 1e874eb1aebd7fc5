"""Log collection: access logs to a table, error rates to a topic. See README.md."""
