"""What the cluster knows of itself: the metadata store, the tree in it, and the image made from that tree."""
