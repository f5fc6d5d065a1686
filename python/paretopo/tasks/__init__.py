"""Tasks: sources of questions, grading of answers, and demonstrations for warm-ups."""
