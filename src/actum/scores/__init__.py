"""Scores: how good the answer of a run was, said behind its end by a person, a program or a model."""
