"""The server of `tests.conformance.server` in the house and by the web server of `actum serve`, as a door among others.

`python -m tests.conformance.served FD`, FD being the number of a listening socket
"""

from __future__ import annotations

import asyncio
import sys

from actum.server.metrics import Metrics
from actum.server.web import serve
from actum.server.web_application import WebApplication, WebApplicationSettings
from tests.conformance.server import service
from tests.server_process import inherited

if __name__ == "__main__":
    application = WebApplication([service().door(sse=True)], WebApplicationSettings(), metrics=Metrics())
    asyncio.run(serve(application, inherited(sys.argv[1])))
