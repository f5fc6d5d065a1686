"""Evaluation of a model on data sets, and what its results are held against."""
