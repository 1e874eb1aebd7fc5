"""Commands: `barnabas` and Kafka's own names for the same things. Each imports only what it runs."""
