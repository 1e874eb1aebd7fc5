"""Groups that change between the classic and the consumer protocol while their members work (KIP-848)."""
