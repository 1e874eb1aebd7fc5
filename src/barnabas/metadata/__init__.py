"""Cluster metadata: the metadata store, its tree of nodes, and the image that is made from the tree."""
