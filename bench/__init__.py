"""The benchmark: every operation against every peer, answers first, then times.

``python -m bench``, from the root of a checkout, runs it; ``README.md`` beside this file tells how
to read what it writes. It imports paretopo_core and nothing of the training package, and nothing
imports it.
"""
