"""Methods side by side: `paretopo study FILE.toml`."""
