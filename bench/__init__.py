"""Benchmarks: each against the bare floor and a peer in the same run, told as ratios."""
