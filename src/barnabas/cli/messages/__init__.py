"""Records through the command line: read from lines, sent, received, and shown.

Shared by the kafka-* tools that produce or consume and by `barnabas produce` and `barnabas consume`. The one
place of the command line that speaks through confluent-kafka.
"""
