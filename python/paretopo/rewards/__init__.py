"""Rewards: convert the measurements of a rollout to a number for each objective."""
