"""Transactions of one partition of `__transaction_state`: states, transitions, the shard that holds them."""
