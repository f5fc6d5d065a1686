"""Pareto ranks, hypervolumes and rank advantages for batches of groups, on CPU and GPU."""
