"""Turns of a model and a tool in one rollout: a file for each protocol, without a framework."""
