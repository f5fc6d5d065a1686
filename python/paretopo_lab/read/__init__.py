"""Readers of runs, of anybody's logs and of data files."""
