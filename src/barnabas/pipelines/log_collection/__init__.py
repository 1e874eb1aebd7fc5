"""Log collection: access logs to Parquet, error rates to a topic. See README.md."""
