"""The environments of the bundled tasks, one file a task, loaded by OpenRLHF from their path."""
