"""Thin adapters, one folder a framework: the same controller under each of them."""
