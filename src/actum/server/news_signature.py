"""`NewsSignatures`: checks who signed news of a remote agent's task.

News are signed where they have a header `X-A2A-Notification-Signature`, or a JWT as the bearer. The signature has to
fit a key of the agent's own host, or of a host that a person named. The keys are fetched for each piece of news.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import jwt
from jwt import PyJWK

from ..core.interfaces import Clock
from ..core.json import Json, JsonProblem, dumps, parse
from ..protocols.a2a.card import host_of
from ..transport.egress import Egress
from ..transport.fetcher import Fetcher
from ..transport.guard import Guard
from ..transport.http import HttpFailure

KEYS_BYTES_MAX = 256 * 1024
AGE_S = 600.0
ALGORITHMS = ("ES256", "ES384", "RS256", "RS384", "RS512", "PS256", "EdDSA")
TOKEN, SIGNATURE = "x-a2a-notification-token", "x-a2a-notification-signature"  # names of headers


class NewsSignatures:
    """Checks signatures.

    Args:
        egress: the operator's rules for outgoing calls, which hold where keys are fetched.
        clock: the time.
    """

    def __init__(self, egress: Egress, clock: Clock) -> None:
        self._egress = egress
        self._clock = clock

    async def fits(self, signed: str, body: bytes, agent: str, key_hosts: Collection[str]) -> bool:
        """Whether a signature fits the news, and is of a key that may sign them.

        Args:
            signed: the signature, a JWT.
            body: the news, as they came.
            agent: the address of the agent.
            key_hosts: other hosts whose keys may sign.
        """
        try:
            header = jwt.get_unverified_header(signed)
        except jwt.PyJWTError:
            return False
        own, parts = host_of(agent), urlsplit(agent)
        place = header.get("jku") or f"{parts.scheme}://{parts.netloc}/.well-known/jwks.json"
        if not isinstance(place, str) or host_of(place) not in {own, *(host.lower() for host in key_hosts)}:
            return False
        if header.get("alg") not in ALGORITHMS:
            return False
        async with self._fetcher(agent) as fetcher:
            try:
                answer = await fetcher.send("GET", place, headers={"accept": "application/json"}, redirects="none")
                document, _ = parse(answer.body, keep_last=True)
            except (HttpFailure, JsonProblem):
                return False
        now = self._clock.now()
        return any(_fits(signed, key, body, now) for key in _keys(document, header))

    @asynccontextmanager
    async def _fetcher(self, agent: str) -> AsyncIterator[Fetcher]:
        fetcher = Fetcher(Guard(agent, egress=self._egress), bytes_max=KEYS_BYTES_MAX, seconds_max=20.0)
        try:
            yield fetcher
        finally:
            await fetcher.aclose()


def shown_signature(headers: Mapping[str, str], authorization: str) -> str:
    """The signature that a request shows, as a JWT; empty where there is none.

    Args:
        headers: of the request, by lower-case names.
        authorization: the value of that header; empty where there is none.

    >>> shown_signature({}, "Bearer a.b.c"), shown_signature({}, "Bearer a-token")
    ('a.b.c', '')
    """
    if found := headers.get(SIGNATURE, ""):
        return found
    scheme, _, shown = authorization.partition(" ")
    return shown.strip() if scheme.lower() == "bearer" and shown.count(".") == 2 else ""


def _keys(document: Json, header: dict[str, object]) -> list[PyJWK]:
    listed = document.get("keys") if isinstance(document, dict) else None
    found = []
    for each in listed[:50] if isinstance(listed, list) else ():
        if isinstance(each, dict) and each.get("kid") in (None, header.get("kid")):
            try:
                found.append(PyJWK.from_json(dumps(each), algorithm=str(header.get("alg"))))
            except (jwt.PyJWTError, ValueError, TypeError, NotImplementedError):  # of a key that is none
                continue
    return found


def _fits(signed: str, key: PyJWK, body: bytes, now: float) -> bool:
    options = {"verify_aud": False, "verify_iat": False, "verify_exp": False, "require": ["iat"]}
    try:
        claims = jwt.decode(signed, key, algorithms=list(ALGORITHMS), options=options)  # type: ignore[arg-type]
    except (jwt.PyJWTError, ValueError, TypeError):
        return False
    made, digest = claims.get("iat"), claims.get("request_body_sha256")
    is_fresh = isinstance(made, int | float) and abs(now - made) <= AGE_S
    return is_fresh and digest in (None, hashlib.sha256(body).hexdigest())
