"""`paretopo show`: what rollouts wrote, on a terminal and as a page of its own."""
