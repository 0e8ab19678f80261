"""Servers as the settings describe them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import httpx2
import msgspec
import pytest

from actum.compose.serving import Serving, open_doors, place_of
from actum.compose.settings import ServeLimits, ServeSettings, Settings
from actum.core.errors import UsageError
from actum.journal.memory import MemoryJournal
from actum.server import Access, Identity
from actum.server.api.api import GivenAgents
from actum.server.house import HouseSettings
from actum.server.metrics import Metrics
from actum.server.web import ConnectionLimits
from tests.web import serving

GUIDE = Path(__file__).parents[2] / "docs" / "serve.md"


def test_the_guide_shows_every_setting_with_its_default() -> None:
    (block,) = re.findall(r"^```toml\n(.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    shown = tomllib.loads(block)
    assert msgspec.convert(shown["serve"], ServeSettings) == ServeSettings()
    assert set(shown["serve"]) == set(ServeSettings.__struct_fields__)
    assert set(shown["serve"]["limits"]) == set(ServeLimits.__struct_fields__)


def test_the_defaults_of_the_settings_are_those_of_the_server() -> None:
    limits, house, connections = ServeLimits(), HouseSettings(), ConnectionLimits()
    assert (limits.body_bytes, limits.body_s, limits.header_bytes) == (
        house.body_bytes_max,
        house.body_s,
        house.header_bytes_max,
    )
    assert (limits.requests, limits.requests_per_caller) == (house.requests_max, house.requests_per_caller_max)
    assert (limits.connections, limits.connections_per_address, limits.headers_s, limits.header_bytes) == (
        connections.connections_max,
        connections.connections_per_address_max,
        connections.headers_s,
        connections.header_bytes_max,
    )


def test_where_a_server_listens() -> None:
    assert place_of("127.0.0.1:80") == ("127.0.0.1", 80)
    assert place_of("[::1]:80") == ("::1", 80)
    assert place_of(":80") == ("127.0.0.1", 80)
    for wrong in ("127.0.0.1", "a:b", "a:-1", "a:65536", ""):
        with pytest.raises(UsageError, match="write an address and a port"):
            place_of(wrong)


async def test_a_journal_that_is_closed_makes_the_server_not_ready_but_alive() -> None:
    class Closed(MemoryJournal):
        async def runs(self, **_: object) -> list[object]:  # type: ignore[override]
            raise RuntimeError("closed")

    for journal, status in ((MemoryJournal(), 200), (Closed(), 503)):
        doors = open_doors(Settings(), [], GivenAgents({}), journal, Identity())
        served = Serving(doors, ServeSettings(), Access(), journal=journal, metrics=Metrics())
        async with serving(served.house.app) as origin, httpx2.AsyncClient(base_url=origin, trust_env=False) as client:
            assert [(await client.get(path)).status_code for path in ("/readyz", "/healthz")] == [status, 200]
