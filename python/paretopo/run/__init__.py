"""A run on disk: its folder, records, rollouts, report and viewer."""
