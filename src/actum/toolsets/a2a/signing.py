"""Whether a card is signed by a key that can be trusted: JWS over canonical JSON (RFC 7515, RFC 8785).

A key is fetched only from a host that a person named, over https: a card that could say where its key is found would
vouch for itself, and could send requests anywhere.

Needs PyJWT and cryptography (the extra `[a2a]`); they are loaded when a signed card is to be verified.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal
from urllib.parse import urlsplit

import jwt
from jwt import PyJWK
from jwt.api_jws import PyJWS
from msgspec import Struct

from ...core.json import Json, JsonObject, dumps
from ...protocols.a2a.card import CardSignature, UnreadableCard, host_of, says_it_is_signed, signatures_of, signed_forms

ALGORITHMS = ("ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA")
KEYS_MAX = 50

SignatureState = Literal["verified", "unsigned", "unknown_key", "wrong"]


class Verdict(Struct, frozen=True):
    """What is known of the signature of a card.

    Attributes:
        state: `verified`; `unsigned`; `unknown_key` where no key is known that a person trusts; `wrong` where the
            signature does not fit the card, or can not be read.
        words: for a person.
        key_id: of the key that signed; empty where none is verified.
    """

    state: SignatureState
    words: str
    key_id: str = ""


def key_addresses(card: JsonObject, hosts: Collection[str]) -> list[str]:
    """Where the keys of a card's signatures are found, as far as the hosts are trusted.

    Args:
        card: as it came.
        hosts: that a person named; `host` or `host:port`.
    """
    trusted = {host.lower() for host in hosts}
    found = [each.key_url for each in signatures_of(card)]
    return list(
        dict.fromkeys(url for url in found if host_of(url) in trusted and urlsplit(url).scheme in ("http", "https"))
    )


def verify_card(card: JsonObject, keys: dict[str, Json], hosts: Collection[str]) -> Verdict:
    """Look at the signatures of a card.

    Args:
        card: as it came.
        keys: the documents (JWKS) found at the addresses of `key_addresses`.
        hosts: that a person named, for the words.
    """
    if not says_it_is_signed(card):
        return Verdict("unsigned", "The card is not signed.")
    signatures = signatures_of(card)
    if not signatures:
        return Verdict("wrong", "The card says that it is signed, and its signatures can not be read.")
    try:
        forms = signed_forms(card)
    except UnreadableCard as problem:
        return Verdict("wrong", f"The signature can not be verified: {problem}.")
    known = [(each, key) for each in signatures for key in _keys(keys.get(each.key_url), each)][:KEYS_MAX]
    for signature, key in known:
        if any(_fits(signature, key, form) for form in forms):
            signer = f"key {signature.key_id!r} of {host_of(signature.key_url)}"
            return Verdict("verified", f"The card is signed by {signer}.", signature.key_id)
    if known or any(each.key_url in keys for each in signatures):
        return Verdict("wrong", "The signature of the card does not fit the card.")
    places = sorted({host_of(each.key_url) or "an address that is not said" for each in signatures})
    return Verdict(
        "unknown_key",
        f"The card is signed by a key of {', '.join(places)}, which nobody trusts here; the signature is not verified.",
    )


def _keys(document: Json, signature: CardSignature) -> list[PyJWK]:
    """The keys of a document that may have made a signature."""
    listed = document.get("keys") if isinstance(document, dict) else None
    found: list[PyJWK] = []
    for each in listed[:KEYS_MAX] if isinstance(listed, list) else ():
        if (
            signature.algorithm not in ALGORITHMS
            or not isinstance(each, dict)
            or (signature.key_id and each.get("kid") not in (None, signature.key_id))
        ):
            continue
        try:
            found.append(PyJWK.from_json(dumps(each), algorithm=signature.algorithm))
        except (jwt.PyJWTError, ValueError, TypeError, NotImplementedError):  # of a key that is none
            continue
    return found


def _fits(signature: CardSignature, key: PyJWK, payload: bytes) -> bool:
    token = b".".join(
        [
            signature.protected.encode("ascii", "replace"),
            _base64url(payload),
            signature.signature.encode("ascii", "replace"),
        ]
    )
    try:
        PyJWS().decode_complete(token, key, algorithms=[signature.algorithm])
    except (jwt.PyJWTError, ValueError, TypeError):
        return False
    return True


def _base64url(data: bytes) -> bytes:
    return jwt.utils.base64url_encode(data)
