"""A cluster of brokers on this machine, in one directory: `barnabas cluster up`, `down` and others."""
