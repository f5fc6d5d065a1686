"""Tasks: where questions come from, how answers are graded, what a warm-up imitates."""
