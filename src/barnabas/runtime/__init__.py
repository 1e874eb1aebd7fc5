"""What both coordinators run on: shards hosted on partitions, their writes, deadlines and loading."""
