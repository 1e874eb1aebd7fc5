"""The parts of `kafka-consumer-groups`: its options, and one file per action."""
