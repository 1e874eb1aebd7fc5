"""Measuring a producer or a consumer: what `kafka-*-perf-test` and `barnabas perf` do."""
