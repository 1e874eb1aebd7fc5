"""The benchmark behind `make bench`: Barnabas and Apache Kafka, the same generators, alternating rounds."""
