"""Rollouts as text and as a page."""
