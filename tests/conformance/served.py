"""The server of `tests.conformance.server` in the house and by the web server of `actum serve`, as a door among others.

`python -m tests.conformance.served FD`, FD being the number of a listening socket
"""

from __future__ import annotations

import asyncio
import sys

from actum.server.house import House, HouseSettings
from actum.server.metrics import Metrics
from actum.server.web import serve
from tests.conformance.server import service
from tests.server_process import inherited

if __name__ == "__main__":
    house = House([service().door(sse=True)], HouseSettings(), metrics=Metrics())
    asyncio.run(serve(house, inherited(sys.argv[1])))
