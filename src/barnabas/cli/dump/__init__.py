"""What the files of a log say, for `kafka-dump-log` and `barnabas log`.

Everything here only reads, a piece at a time, and may be pointed at the directory of a running broker.
"""
