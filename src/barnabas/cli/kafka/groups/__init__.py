"""The parts of `kafka-consumer-groups`: its options, and one file for each thing it does."""
