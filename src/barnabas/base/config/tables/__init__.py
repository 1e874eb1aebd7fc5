"""The tables of keys, by theme. `broker_keys`, `topic_keys` and `group_keys` put them together."""
