"""Tools that a policy can call: plain functions from text to text that never raise on bad input."""
