"""Other libraries' names, signatures and conventions on this core."""
