"""Hugging Face models without a training framework: the small policy and its supervised warm-up."""
