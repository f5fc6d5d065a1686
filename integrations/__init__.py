"""Thin adapters, one folder for each framework; all of them use the same controller."""
