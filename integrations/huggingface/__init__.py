"""Hugging Face models without a training framework: the small policy and its warm-up."""
