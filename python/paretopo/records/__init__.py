"""A run on disk: its folder, and the rows that it holds."""
