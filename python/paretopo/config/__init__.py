"""The configuration of a run: sections, keys and their checks, TOML in and out, named methods."""
