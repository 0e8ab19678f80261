"""Import of Dify files: workflows, chat flows, chat apps and agents of the formats 0.1 to 0.6.

To read the code, start with `app.py`, then `graph.py` and `nodes.py`.
"""

from ..imported import ImportedApp
from .app import import_dify

__all__ = ["ImportedApp", "import_dify"]
