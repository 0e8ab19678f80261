"""APIs that a person adds: to which servers their requests may go."""

from __future__ import annotations

import pytest

from actum.compose.apis import check_servers
from actum.core.errors import UsageError
from actum.protocols.openapi.endpoint import EndpointTemplate, setup_of
from actum.transport.egress import Egress, EgressRules

FOUND = {
    "public.example": ["93.184.216.34"],
    "intranet.example": ["10.0.0.7"],
    "half.example": ["fe80::1", "10.0.0.7"],
    "cloud.example": ["169.254.169.254"],
    "six.example": ["fd00:ec2::254", "::ffff:169.254.169.254"],
}


async def resolve(host: str, port: int) -> list[str]:
    if host not in FOUND:
        raise OSError("no such name")
    return FOUND[host]


@pytest.mark.parametrize("host", [*FOUND, "unknown.example", "metadata.google.internal"])
async def test_a_name_that_leads_only_where_nobody_may_go_is_refused_when_it_is_added(host: str) -> None:
    setup = setup_of(EndpointTemplate(name="x", url=f"https://{host}/v1"))
    if host in ("cloud.example", "six.example", "metadata.google.internal"):
        with pytest.raises(UsageError, match=host):
            await check_servers(setup.origins, Egress(), resolve)
    else:
        await check_servers(setup.origins, Egress(), resolve)


async def test_a_name_of_a_cloud_for_its_secrets_is_refused_though_a_proxy_would_look_it_up() -> None:
    setup = setup_of(EndpointTemplate(name="x", url="http://metadata.google.internal/x"))
    egress = Egress(EgressRules(proxy="http://proxy.example:3128", private=("http://metadata.google.internal",)))
    with pytest.raises(UsageError, match="never reached"):
        await check_servers(setup.origins, egress, resolve)
