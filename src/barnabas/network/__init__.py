"""Sockets: listeners, connections, frames in, responses out in order. Knows nothing of what they mean."""
