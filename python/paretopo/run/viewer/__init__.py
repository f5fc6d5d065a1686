"""Rollouts on a terminal and as a page; the report on runs as a page."""
