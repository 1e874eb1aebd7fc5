"""Kafka's own command-line tools: one file per tool, its flags and its printed text.

The requests are in `client.admin`, which the commands of `barnabas` use too. A file here has the flags, the
checks between them, and the printed text.
"""
