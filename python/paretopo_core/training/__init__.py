"""The two-stage training of tool-using language models; never imported by the core."""
