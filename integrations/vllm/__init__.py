"""Generation with vLLM, on GPUs or a CPU."""
