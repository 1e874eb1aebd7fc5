"""Mirror: topics to another cluster, as they are, exactly once. See README.md."""
