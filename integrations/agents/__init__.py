"""What takes turns with the policy in a rollout, for the trainers that leave that to an agent.

`agent.py` is what an agent is, `episodes.py` one that plays a protocol, `of_tasks.py` those of the
bundled tasks; `thread.py` keeps what blocks apart.
"""
