"""Import of Coze canvases: workflows and chat workflows of the open-source studio, and what its editor copies.

To read the code, start with `canvas_import.py`, then `canvas.py`, `values.py` and `nodes.py`.
"""

from ..imported import ImportedApp
from .canvas_import import import_coze

__all__ = ["ImportedApp", "import_coze"]
