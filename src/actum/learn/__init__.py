"""What is made out of experience: whether something learned is better than what there is."""

from .promotion import Promotion

__all__ = ["Promotion"]
