"""One value for reports, and its writers."""
