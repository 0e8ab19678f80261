"""Loops of calls: an agent asks a model, has its calls performed, and asks again until there is an answer.

Start with `turn.py`.
"""
