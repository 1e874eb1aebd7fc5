"""Committed offsets of the groups of one shard, and the requests for them."""
