"""The machinery below the families of operations: it knows none of them by name."""
