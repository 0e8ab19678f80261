"""Keys of our own: whose they are, when they end, and that no protocol is needed to check them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from actum.core.errors import UsageError
from actum.core.identity import Identity
from actum.core.stored.key import Key, new_key
from actum.server.verifier import Authenticator, Keys, SharedKey
from actum.testing import FakeClock

KEY = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


async def test_a_key_of_ours_is_known_by_its_hash_until_it_ends(clock: FakeClock) -> None:
    text, key = new_key("ci", principal="robot", roles=["deploy"], scopes=["read"])
    assert text not in repr(key)
    keys = Keys([key], clock=clock)
    identity = await keys.verify_token(text)
    assert identity == Identity(principal="robot", roles=("deploy",), key_id="ci", scopes=("read",))
    assert text not in repr(identity)
    other, _ = new_key("ci")
    unknown, _ = new_key("other")
    for wrong in (other, unknown, text[:-1], text + "x", "", "ak_ci_"):
        assert await keys.verify_token(wrong) is None
    ends = Keys([Key(id="ci", sha256=key.sha256, expires_at=clock.now() + 10)], clock=clock)
    assert await ends.verify_token(text) is not None
    clock.advance(10)
    assert await ends.verify_token(text) is None


def test_keys_that_can_not_be_told_apart_are_refused() -> None:
    _, key = new_key("a")
    with pytest.raises(UsageError):
        Keys([key, key])
    for wrong in ("", "a_b", "ä", "x" * 41):
        with pytest.raises(UsageError):
            new_key(wrong)


async def test_whoever_shows_the_shared_key_is_its_one_user() -> None:
    shared = SharedKey(KEY, "ada")
    assert await shared.verify_token(KEY) == Identity(principal="ada", key_id="shared")
    for wrong in ("", KEY[:-1], KEY + "0", KEY.upper(), "\ud800", "ä" * 32):
        assert await shared.verify_token(wrong) is None
    with pytest.raises(UsageError, match="the key has 6 characters, and needs 16"):
        SharedKey("secret", "ada")


async def test_the_first_verifier_that_knows_a_token_decides() -> None:
    text, key = new_key("ci")
    both = Authenticator([SharedKey(KEY, "ada"), SharedKey(KEY, "eve"), Keys([key])])
    assert await both.verify_token(KEY) == Identity(principal="ada", key_id="shared")
    assert await both.verify_token(text) == Identity(principal="ci", key_id="ci")
    assert await Authenticator([]).verify_token(KEY) is None


_CHECK = """
import asyncio, sys
for name in ("mcp", "mcp_types", "starlette", "uvicorn", "jwt"):
    sys.modules[name] = None  # whoever imports this module gets an ImportError

from actum.server import Access, Authenticator, Identity, SharedKey
from actum.core.stored.key import new_key
from actum.server.verifier import Keys

text, key = new_key("ci", scopes=["read"])
access = Access(verifier=Authenticator([SharedKey("0123456789abcdef", "ada"), Keys([key])]))
assert asyncio.run(access.verifier.verify_token(text)) == Identity(principal="ci", key_id="ci", scopes=("read",))
assert asyncio.run(access.verifier.verify_token("0123456789abcdef")).principal == "ada"
assert not [name for name in sys.modules if name.startswith("actum.server.mcp")]
"""

_ISSUER = """
import sys
import actum.server.issuer
print(*{"mcp", "mcp_types", "starlette", "uvicorn"} & sys.modules.keys())
"""

_NO_JWT = """
import sys
sys.modules["jwt"] = None
import actum.server
from actum.core.errors import UsageError

try:
    actum.server.SignedTokens
except UsageError as error:
    print(error)
"""


def test_a_key_is_checked_without_the_packages_of_any_protocol_or_web_server() -> None:
    assert _run(_CHECK) == ""
    assert _run(_ISSUER) == ""


def test_who_lacks_the_package_for_tokens_of_an_issuer_is_told_its_name() -> None:
    assert "pip install 'pyjwt[crypto]'" in _run(_NO_JWT)


def _run(code: str) -> str:
    """What a program prints in a process of its own, where nothing is loaded yet."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()
