"""Runs: what every run has, with a model or without one.

`Runner` holds what runs are made with; `Run` is one run that this process carries out.
"""
