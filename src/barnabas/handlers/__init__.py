"""What each request does: one file per API, named after it. `registry.py` is the table of all of them."""
