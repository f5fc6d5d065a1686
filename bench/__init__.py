"""The benchmark: every operation against every peer, answers first, then times.

Run ``python -m bench`` from the root of a checkout. ``README.md`` in this folder explains the
results. The benchmark imports paretopo_core and nothing of the training package; nothing imports
it.
"""
