"""Activity tracking: page views and clicks to sessions, counts and top pages. See README.md."""
