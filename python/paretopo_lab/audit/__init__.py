"""Find the estimator that a dump of advantages follows, and the faults that it shows."""
