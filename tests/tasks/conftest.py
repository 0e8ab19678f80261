"""Where the tasks of a test are on record: in a file, and on a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.broker import BrokerServer, broker_server
from tests.storage.conftest import PLACES, Store


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """One journal that outlives its process."""
    found = Store(PLACES[request.param](request))
    try:
        yield found
    finally:
        await found.close()


@pytest.fixture(scope="session")
def broker_of_session() -> Iterator[BrokerServer]:
    with broker_server() as running:
        yield running


@pytest.fixture
def broker(broker_of_session: BrokerServer) -> BrokerServer:
    """A broker that holds nothing."""
    broker_of_session.empty()
    return broker_of_session
