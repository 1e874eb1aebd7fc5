"""A broker's replicas of partitions: appends, reads, the high watermark, and the requests that wait."""
