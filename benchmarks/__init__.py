"""Benchmarks of the running daemon: what the figures in the README rest on. See ``README.md`` here."""
