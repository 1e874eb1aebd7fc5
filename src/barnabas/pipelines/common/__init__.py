"""What the pipelines share: settings, the Spark session, exactly-once outputs, dead letters, progress."""
