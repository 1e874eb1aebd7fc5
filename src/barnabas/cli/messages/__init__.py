"""Records on the command line: parsed from lines, sent, received, and printed.

Shared by the kafka-* tools that produce or consume and by `barnabas produce` and `barnabas consume`. Only
this package and `cli.perf` use confluent-kafka.
"""
