"""Rewards: from what a rollout did to a number for each objective."""
