"""Tests of the imports of foreign definitions."""
