"""Print the document of our own API: `python -m actum.server.api > docs/openapi.json`."""

from __future__ import annotations

import sys

from .routes import whole_document

sys.stdout.buffer.write(whole_document())
