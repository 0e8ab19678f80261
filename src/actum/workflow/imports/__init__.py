"""Imports of definitions that other programs wrote: our file, and a report of what came over and what did not.

To read the code, start with `report.py`.
"""
