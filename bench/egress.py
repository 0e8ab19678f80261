"""What the guard of outgoing calls costs: a pooled HTTPS call through the guard, beside the same call without.

A server in another process; CPU of this process, the best of several rounds. The floor is httpx2 with its own pool.
`transport` is the same client with the guard's transport; `fetcher` is what tools use.
"""

from __future__ import annotations

import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2

from actum.transport.egress import Egress, EgressRules
from actum.transport.fetcher import Fetcher
from actum.transport.guard import Guard
from actum.transport.httpx2_transport import GuardedTransport

from .loop import Job, Row, cpu

CALLS = 200
RATIO_MAX = 1.1


@contextmanager
def server() -> Iterator[tuple[str, ssl.SSLContext]]:
    """The address of a running TLS server, and the context that trusts it."""
    command = [sys.executable, "-m", "bench.egress_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port, file = process.stdout.readline().split()
        yield f"https://localhost:{port}/weather?city=Oslo", ssl.create_default_context(cafile=file)
        process.terminate()


def with_client(url: str, context: ssl.SSLContext, guard: Guard | None) -> Job:
    """Calls with httpx2, through a guard where there is one."""
    clients: list[httpx2.AsyncClient] = []

    async def run() -> None:
        if not clients:
            transport = GuardedTransport(guard, context=context) if guard is not None else None
            clients.append(httpx2.AsyncClient(transport=transport, verify=context, trust_env=False))
        for _ in range(CALLS):
            assert (await clients[0].get(url)).status_code == 200

    return run


def with_fetcher(url: str, context: ssl.SSLContext, guard: Guard) -> Job:
    """Calls as tools make them."""
    fetcher = Fetcher(guard, context=context)

    async def run() -> None:
        for _ in range(CALLS):
            assert (await fetcher.send("GET", url, types=["application/json"])).status == 200

    return run


def egress_table(rounds: int) -> list[Row]:
    """CPU of one guarded call over a kept connection, and how many times that of an unguarded one."""
    with server() as (url, context):
        rules = EgressRules(
            allow=tuple(f"api{number}.example.com" for number in range(20)),
            deny=tuple(f"203.0.{number}.0/24" for number in range(20)),
            private=("https://localhost:*",),
        )
        guard = Guard(egress=Egress(rules))
        jobs = {
            "floor": with_client(url, context, None),
            "transport": with_client(url, context, guard),
            "fetcher": with_fetcher(url, context, guard),
        }
        spent = cpu(jobs, rounds, dict.fromkeys(jobs, 1))
    call = {name: seconds / CALLS * 1e6 for name, seconds in spent.items()}
    return [
        {
            "way": name,
            "µs": round(call[name]),
            "ratio": round(call[name] / call["floor"], 2),
            "within": call[name] / call["floor"] <= RATIO_MAX,
        }
        for name in jobs
    ]
