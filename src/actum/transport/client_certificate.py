"""TLS with a certificate of the client (mutual TLS)."""

from __future__ import annotations

import os
import ssl
import tempfile
from pathlib import Path

import httpx2


class BadCertificate(ValueError):
    """A text is no certificate with its private key that can be used."""


def context_with(certificate: str, trusted: ssl.SSLContext | None = None) -> ssl.SSLContext:
    """A context that shows a certificate to servers which ask for one.

    Args:
        certificate: the certificate, those between it and its authority, and the private key without a password, as
            PEM.
        trusted: a context whose authorities are trusted; by default those of the system.

    Raises:
        BadCertificate: the text can not be used. The message does not show anything of it.
    """
    if trusted is None:
        context = httpx2.create_ssl_context()
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=b"".join(trusted.get_ca_certs(binary_form=True)))
    handle, name = tempfile.mkstemp(prefix="actum-")  # OpenSSL reads keys from files alone; for the owner alone
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(certificate)
        context.load_cert_chain(name, password="")  # a key with a password would be asked for at the terminal
    except (ssl.SSLError, ValueError):
        raise BadCertificate("it is no PEM with a certificate and its private key, without a password") from None
    finally:
        Path(name).unlink(missing_ok=True)
    return context
