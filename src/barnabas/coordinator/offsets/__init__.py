"""What groups have committed: the offsets of one shard, and the requests about them."""
