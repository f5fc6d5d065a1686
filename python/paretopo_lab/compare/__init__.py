"""Logs of any evaluation as fronts: readers, bootstrap, tables and pictures."""
