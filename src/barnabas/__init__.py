"""Barnabas: Kafka, rebuilt in Python. A broker, its tools, and a data pipeline on Spark."""

__version__ = "0.1.0"
