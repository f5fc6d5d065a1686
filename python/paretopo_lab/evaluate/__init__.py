"""Evaluation of a model on data sets, and comparison of its results."""
