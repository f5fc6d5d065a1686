"""The commands that read results: one file for each, added to the command line of `paretopo`."""
