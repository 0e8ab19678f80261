"""Evaluation: cases, experiments, and whether one version is better than another."""

from .case import Case
from .scorer import Score
from .tried import TriedRun

__all__ = ["Case", "Score", "TriedRun"]
