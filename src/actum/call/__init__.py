"""The one call path. Imports core, schema, policy and journal alone, so that it can be reviewed for safety by itself.

Start with `path.py`.
"""
