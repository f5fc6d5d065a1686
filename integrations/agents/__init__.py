"""Agents: the environments that take turns with the policy, for trainers that delegate rollouts.

`agent.py` defines an agent, `episodes.py` an agent that plays a protocol, and `of_tasks.py` the
agents of the bundled tasks.
"""
