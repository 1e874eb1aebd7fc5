"""What the cluster decides: topics, their placement and leaders, configurations, producer ids."""
