"""The embedded model: small, deterministic, part of the package; it calls tools with no key and no network. No
language model.
"""

from .model import Embedded

__all__ = ["Embedded"]
