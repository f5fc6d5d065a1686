"""The benchmark: every operation against every peer, answers first, then times.

``paretopo bench`` runs it; ``bench/README.md`` tells how to read what it writes. Nothing outside
this package imports it.
"""
