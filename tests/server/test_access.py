"""Who may come in over HTTP, whatever the protocol."""

from __future__ import annotations

import pytest

from actum.core.errors import UsageError
from actum.server.access import LOCAL, Access, accepted, is_loopback, refuse_open
from actum.server.verifier import SharedKey


@pytest.mark.parametrize(
    ("host", "local"),
    [("localhost", True), ("127.0.0.53", True), ("::1", True), ("[::1]", True), ("0.0.0.0", False), ("a.b", False)],
)
def test_which_addresses_only_this_machine_reaches(host: str, local: bool) -> None:
    assert is_loopback(host) is local


def test_a_server_that_strangers_reach_wants_a_token_or_a_word_of_its_operator() -> None:
    for host in ("192.168.1.5", "0.0.0.0", "", "::"):
        with pytest.raises(UsageError, match=f"others than this machine reach {host or 'every address'}, and nobody"):
            refuse_open(host, LOCAL)
        refuse_open(host, Access(insecure=True))
        refuse_open(host, Access(verifier=SharedKey("0123456789abcdef", "ada")))
    refuse_open("127.0.0.1", LOCAL)


def test_a_request_must_use_a_name_of_the_server() -> None:
    hosts, origins = accepted("::2", Access(names=("a.org",), origins=("https://b.org",)))
    assert hosts == ["[::2]", "[::2]:*", "a.org", "a.org:*"]
    assert origins == [*(f"http://{name}" for name in hosts), *(f"https://{name}" for name in hosts), "https://b.org"]
    assert accepted("localhost", LOCAL).hosts[:2] == ["localhost", "localhost:*"]
    with pytest.raises(UsageError, match="under which names"):
        accepted("0.0.0.0", LOCAL)
