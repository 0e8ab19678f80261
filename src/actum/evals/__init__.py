"""Evaluation: cases, experiments, and whether one version is better than another."""

from .case import Case
from .judge import Judge
from .scorer import Score
from .tried import TriedRun

__all__ = ["Case", "Judge", "Score", "TriedRun"]
