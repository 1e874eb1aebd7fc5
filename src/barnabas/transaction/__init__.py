"""The transaction coordinator: states, transitions and markers.

Its state is loaded from and kept in a log.
"""
