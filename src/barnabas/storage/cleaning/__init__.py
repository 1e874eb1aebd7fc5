"""Log compaction: from sealed segments to smaller ones in which every key has its newest value.

`cleanable` decides what can be cleaned, `cleaner` turns files into `.cleaned` files (a pure function of files
that never change, run by `worker` in a process of its own), `storage/local_log.py` swaps them in.
"""
