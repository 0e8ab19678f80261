"""The key that signs agent cards and pushed news: an elliptic key (ES256), published as a JWK set.

The key follows from the secret of the journal, so that all processes of a server sign with one key and nobody has to
keep a file; an operator can name a key of their own.

Sources: RFC 7515 (JWS), RFC 7517 (JWK), RFC 7638 (thumbprint), RFC 8785 (canonical JSON); A2A 1.0, section 8.4.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from jwt import api_jws

from ...core.errors import UsageError
from ...core.json import Json, JsonObject

_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The order of the curve P-256."""


class CardKey:
    """A key that signs.

    Args:
        private: the key, on the curve P-256.

    Attributes:
        id: names the key: its thumbprint.
    """

    def __init__(self, private: ec.EllipticCurvePrivateKey) -> None:
        self._private = private
        numbers = private.public_key().public_numbers()
        self._public: dict[str, str] = {
            "crv": "P-256",
            "kty": "EC",
            "x": _base64(numbers.x.to_bytes(32, "big")),
            "y": _base64(numbers.y.to_bytes(32, "big")),
        }
        self.id = _base64(hashlib.sha256(canonical(dict(self._public))).digest())

    @classmethod
    def of_secret(cls, secret: bytes) -> CardKey:
        """The key that follows from a secret."""
        drawn = int.from_bytes(hmac.digest(secret, b"a2a: the key of cards", "sha512"), "big")
        return cls(ec.derive_private_key(drawn % (_ORDER - 1) + 1, ec.SECP256R1()))

    @classmethod
    def of_pem(cls, text: str) -> CardKey:
        """The key in a PEM text.

        Raises:
            UsageError: it is no key of the curve P-256.
        """
        try:
            key = load_pem_private_key(text.encode(), None)
        except (ValueError, TypeError):
            raise UsageError(
                "the key that signs cards: write a private key in the form PEM, without a password"
            ) from None
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
            raise UsageError("the key that signs cards has to be an elliptic key of the curve P-256")
        return cls(key)

    @property
    def jwks(self) -> JsonObject:
        """The public part, as a JWK set."""
        key: JsonObject = {**self._public, "kid": self.id, "use": "sig", "alg": "ES256"}
        keys: list[Json] = [key]
        return {"keys": keys}

    def sign_card(self, card: Mapping[str, Json], jku: str) -> JsonObject:
        """A signature of a card.

        Args:
            card: the card; its signatures and what is empty do not count.
            jku: where the JWK set is.
        """
        told = {name: value for name, value in card.items() if name != "signatures"}
        headers = {"alg": "ES256", "kid": self.id, "typ": "JOSE", "jku": jku}
        protected, _, signature = self._jws(canonical(without_empty(told)), headers).split(".")
        return {"protected": protected, "signature": signature}

    def sign_claims(self, claims: JsonObject, jku: str) -> str:
        """A JWT of these claims; its header names no `jku` where that is empty."""
        headers = {"alg": "ES256", "kid": self.id, "typ": "JWT"} | ({"jku": jku} if jku else {})
        return self._jws(canonical(claims), headers)

    def _jws(self, payload: bytes, headers: Mapping[str, str]) -> str:
        return api_jws.encode(payload, self._private, algorithm="ES256", headers=dict(headers))


def canonical(value: Json) -> bytes:
    """JSON by RFC 8785, of values without fractions and with names of ASCII characters."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def without_empty(value: Json) -> Json:
    """A value without empty texts, lists and objects, as the specification has cards signed; None where nothing is
    left."""
    if isinstance(value, dict):
        left: JsonObject = {name: kept for name, held in value.items() if (kept := without_empty(held)) is not None}
        return dict(left) if left else None
    if isinstance(value, list):
        found: list[Json] = [kept for held in value if (kept := without_empty(held)) is not None]
        return found or None
    return None if value == "" else value


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
