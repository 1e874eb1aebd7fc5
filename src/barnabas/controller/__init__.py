"""The controller's decisions: topics, replica placement, leaders, configurations, producer ids."""
