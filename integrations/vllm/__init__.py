"""Generation by vLLM, on GPUs or a CPU."""
