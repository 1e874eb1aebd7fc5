"""The parts of kafka-configs: the entities of a command line, --describe, and --alter."""
