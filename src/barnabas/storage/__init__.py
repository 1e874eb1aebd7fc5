"""The durable log: segments, indexes, producer state, checkpoints, in the files of Apache Kafka.

Synchronous and free of threads of its own except for recovery; a `Log` belongs to one thread, only flush
plans, checkpoint writes and deletions are made to be run in another.
"""
