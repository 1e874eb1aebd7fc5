"""Record batches to Arrow columns and back, vectorised; pure: no I/O, no Spark."""
