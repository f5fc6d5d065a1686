"""Agents: the environments that take turns with the policy, for trainers that delegate rollouts.

`agent.py` defines an agent, and `of_tasks.py` the agents of the bundled tasks.
"""
