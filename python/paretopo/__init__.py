"""Multi-objective reinforcement learning for tool-using language models, on paretopo_core."""
