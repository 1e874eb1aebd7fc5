"""Sockets: listeners, connections, request frames, and responses in request order.

Does not parse requests.
"""
