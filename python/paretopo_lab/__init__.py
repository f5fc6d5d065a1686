"""Prepare data, evaluate models, compare and study them, and report on results.

Nothing in `paretopo` imports this package but the command line.
"""
