"""Kafka's own command-line tools: one file per tool, its flags and its printed text.

What a tool does to a cluster is in `client.admin`, where `barnabas topic` and its neighbours find it too;
a file here holds the flags, the checks between them, and the text.
"""
