"""The studies of the recommended recipe: methods compared on tables, and the paper's claims.

Run ``python -m research research/hypervolume.toml`` from the root of a checkout. ``README.md`` in
this folder lists the studies. ``paretopo study`` compares methods on configurations of your own.
"""
