"""The PDF server: `python -m examples.pdf_server.server FOLDER`, by its pipes, as hosts start it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from actum.server import McpService

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file, from any folder

from examples.pdf_server.papers import papers


def main() -> None:
    """Serve until the host leaves."""
    folder = Path(sys.argv[1]).resolve(strict=True)
    service = McpService(papers(folder), name="papers", instructions="PDF files of one folder: list, search, read.")
    asyncio.run(service.run_stdio())


if __name__ == "__main__":
    main()
