"""The report of training runs."""
