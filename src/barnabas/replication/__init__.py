"""What a broker does for a partition it holds: appends, reads, the high watermark, and who waits for them."""
