"""The command line: `barnabas` and Kafka's own tools. Each command imports only what it runs."""
