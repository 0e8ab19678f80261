"""Workflows: graphs of calls that a person draws. A workflow is carried out as a run, like the loop of an agent.

Start with `graph.py` and `flow.py`.
"""
