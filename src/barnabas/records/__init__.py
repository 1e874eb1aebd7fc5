"""Record batches, format v2: reading, building, compressing and checking them. No I/O, no state."""
