"""How a journal holds secret values: a payload of their own, with a salt, a digest, and a cipher where there is a key.

The record says the digest, SHA-256 over salt and payload, and the chain of the run covers the record. So the payload
can be deleted together with its salt and the chain still checks; the digest without the salt tells nothing of a short
password. With a key the payload is encrypted, and its length is rounded up.

The cipher is HMAC-SHA256 in counter mode, and HMAC-SHA256 over nonce and ciphertext proves the payload (encrypt, then
authenticate; one key for each, derived from the journal's key): the standard library has no other cipher, and a journal
needs no other package. It protects copies of the database. A person who has the key, or controls the running process,
has the values.
"""

from __future__ import annotations

import hashlib
import hmac
import os

from msgspec import Struct

from ..errors import JournalError

_PLAIN, _ENCRYPTED = b"\0", b"\1"
_NONCE = 16
_TAG = 32
_PADDED_TO = 128


class SealedWords(Struct, frozen=True):
    """Secret values as a journal holds them.

    Attributes:
        digest: SHA-256 over salt and payload, hexadecimal: the record says it.
        salt: 16 random bytes.
        payload: the values, encrypted where the journal has a key.
    """

    digest: str
    salt: bytes
    payload: bytes

    @property
    def is_intact(self) -> bool:
        """Whether the payload is the one that was sealed."""
        return hashlib.sha256(self.salt + self.payload).hexdigest() == self.digest


def seal_words(words: bytes, key: bytes | None) -> SealedWords:
    """Seal secret values.

    Args:
        words: the values.
        key: the journal's key; None where the journal has none.
    """
    payload = _PLAIN + words if key is None else _ENCRYPTED + _encrypted(words, key)
    salt = os.urandom(16)
    return SealedWords(hashlib.sha256(salt + payload).hexdigest(), salt, payload)


def open_words(sealed: SealedWords, key: bytes | None) -> bytes:
    """The secret values.

    Raises:
        JournalError: they were changed, or the key is missing or another one.
    """
    if not sealed.is_intact:
        raise JournalError("secret values of this run were changed in the journal")
    if sealed.payload[:1] == _PLAIN:
        return sealed.payload[1:]
    if key is None:
        raise JournalError("secret values of this run are encrypted: open the journal with its key")
    return _decrypted(sealed.payload[1:], key)


def _encrypted(words: bytes, key: bytes) -> bytes:
    nonce = os.urandom(_NONCE)
    padded = words + b" " * (-len(words) % _PADDED_TO)  # JSON, to which blanks at its end mean nothing
    body = nonce + _with_stream(padded, nonce, key)
    return body + hmac.digest(_derived(key, b"authentication"), body, "sha256")


def _decrypted(sealed: bytes, key: bytes) -> bytes:
    body, tag = sealed[:-_TAG], sealed[-_TAG:]
    if not hmac.compare_digest(hmac.digest(_derived(key, b"authentication"), body, "sha256"), tag):
        raise JournalError("secret values of this run are encrypted with another key")
    return _with_stream(body[_NONCE:], body[:_NONCE], key)


def _with_stream(data: bytes, nonce: bytes, key: bytes) -> bytes:
    """Encrypts, and decrypts."""
    own = _derived(key, b"encryption")
    blocks = range((len(data) + 31) // 32)
    stream = b"".join([hmac.digest(own, nonce + number.to_bytes(8, "big"), "sha256") for number in blocks])
    return bytes([one ^ other for one, other in zip(data, stream, strict=False)])


def _derived(key: bytes, purpose: bytes) -> bytes:
    return hmac.digest(key, b"actum secret values: " + purpose, "sha256")
