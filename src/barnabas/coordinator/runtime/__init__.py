"""From decisions to effects: shards hosted on partitions, their writes, their deadlines, their loading."""
