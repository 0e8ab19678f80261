"""A real authorization server for tests: it registers, lets people in, checks proofs, signs tokens and takes them back.

What makes it wrong or different is said by its fields, so that a test shows in one line what a client must refuse.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass, field
from urllib.parse import urlencode

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from actum.core.interfaces import Clock
from actum.core.json import Json, JsonObject

KEY = ec.generate_private_key(ec.SECP256R1())
OTHER_KEY = ec.generate_private_key(ec.SECP256R1())


def claims_of(token: str) -> JsonObject:
    found: JsonObject = jwt.decode(token, options={"verify_signature": False})
    return found


@dataclass
class Issuer:
    """One authorization server.

    Attributes:
        clock: by which tokens end.
        url: its own address, known when it listens.
        metadata_path: where its metadata is.
        metadata: fields of it that are other than they should be; None leaves one out.
        iss: what it says in redirects; None leaves it out, empty for the right one.
        state: what state it hands back; empty for the right one.
        lifetime_s: of tokens.
        granted: the scopes that it grants, whatever is asked; None for those.
        method: how clients are registered to show a secret.
        error: the error code with which the token endpoint refuses everything, once.
        status: with which the token endpoint answers everything; 0 for as it should.
        id_claims: claims of ID tokens that are other than they should be; None leaves one out.
        id_token: the whole ID token, in place of the right one.
        more_keys: so many keys are published beside its own.
        asked: what came, by endpoint.
    """

    clock: Clock
    url: str = ""
    metadata_path: str = "/.well-known/oauth-authorization-server"
    metadata: JsonObject = field(default_factory=dict)
    iss: str | None = ""
    state: str = ""
    lifetime_s: int | None = 3600
    granted: str | None = None
    method: str = "none"
    error: str = ""
    status: int = 0
    id_claims: JsonObject = field(default_factory=dict)
    id_token: str = ""
    more_keys: int = 0
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    _clients: dict[str, str] = field(default_factory=dict)
    _scopes: dict[str, str] = field(default_factory=dict)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)
    _refresh: dict[str, dict[str, str]] = field(default_factory=dict)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route(self.metadata_path, self._metadata),
                Route("/jwks", self._jwks),
                Route("/register", self._register, methods=["POST"]),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/revoke", self._revoke, methods=["POST"]),
                Route("/introspect", self._introspect, methods=["POST"]),
            ]
        )

    def know(self, client_id: str, secret: str = "") -> None:
        """Register a client by hand."""
        self._clients[client_id] = secret

    def forget_clients(self) -> None:
        self._clients.clear()

    def forget_refresh_tokens(self) -> None:
        self._refresh.clear()

    def count(self, endpoint: str) -> int:
        return sum(name == endpoint for name, _ in self.asked)

    def last(self, endpoint: str) -> dict[str, str]:
        return [fields for name, fields in self.asked if name == endpoint][-1]

    def sign(self, claims: JsonObject, *, key: ec.EllipticCurvePrivateKey = KEY, kid: str = "k1") -> str:
        """A token with these claims over the usual ones; None leaves one out."""
        now = int(self.clock.now())
        usual: JsonObject = {"iss": self.url, "sub": "ada", "client_id": "c", "iat": now, "exp": now + 3600}
        whole = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(whole, key, algorithm="ES256", headers={"kid": kid, "typ": "at+jwt"})

    async def _metadata(self, request: Request) -> Response:
        self.asked.append(("metadata", {}))
        usual: JsonObject = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize?tenant=1",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "revocation_endpoint": f"{self.url}/revoke",
            "jwks_uri": f"{self.url}/jwks",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
        }
        return JSONResponse({name: value for name, value in {**usual, **self.metadata}.items() if value is not None})

    async def _jwks(self, request: Request) -> Response:
        self.asked.append(("jwks", {}))
        algorithm = jwt.get_algorithm_by_name("ES256")
        key: dict[str, Json] = dict(algorithm.to_jwk(KEY.public_key(), as_dict=True))
        known: list[Json] = [{**key, "kid": "k1", "alg": "ES256", "use": "sig"}, {"kty": "unheard of"}]
        return JSONResponse({"keys": known + [{**key, "kid": f"more-{at}"} for at in range(self.more_keys)]})

    async def _register(self, request: Request) -> Response:
        wanted = await request.json()
        self.asked.append(("register", {name: str(value) for name, value in wanted.items()}))
        client, secret = f"client-{len(self._clients) + 1}", "" if self.method == "none" else "registered-secret"
        self._clients[client] = secret
        self._scopes[client] = str(wanted.get("scope", ""))
        known = {**wanted, "client_id": client, "token_endpoint_auth_method": self.method}
        return JSONResponse({**known, **({"client_secret": secret} if secret else {})}, status_code=201)

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        self.asked.append(("authorize", asked))
        code = secrets.token_urlsafe(8)
        self._codes[code] = asked
        said = {"code": code, "state": self.state or asked["state"]}
        known = self._scopes.get(asked["client_id"])
        if known is not None and not set(asked.get("scope", "").split()) <= {*known.split(), "offline_access"}:
            said = {"error": "invalid_scope", "state": asked["state"]}
        if self.iss is not None:
            said["iss"] = self.iss or self.url
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(said)}")

    async def _token(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        self.asked.append(("token", form | {"authorization": request.headers.get("authorization", "")}))
        if self.status:
            return Response("try later", self.status)
        if self.error:
            error, self.error = self.error, ""
            return _refused(error)
        if not self._is_client(request, form):
            return _refused("invalid_client", 401)
        match form["grant_type"]:
            case "authorization_code":
                asked = self._codes.pop(form["code"], None)
                digest = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
                if asked is None or digest.decode().rstrip("=") != asked["code_challenge"]:
                    return _refused("invalid_grant")
                return self._grant(asked.get("scope", ""), asked.get("resource", ""), said=asked)
            case "refresh_token":
                known = self._refresh.pop(form["refresh_token"], None)
                return self._grant(known["scope"], known["resource"]) if known else _refused("invalid_grant")
            case "client_credentials":
                return self._grant(form.get("scope", ""), form["resource"], refresh=False)
            case "urn:ietf:params:oauth:grant-type:token-exchange":
                voucher = self.sign({"aud": form["audience"], "resource": form["resource"]})
                kind = "urn:ietf:params:oauth:token-type:id-jag"
                return JSONResponse({"access_token": voucher, "issued_token_type": kind, "token_type": "N_A"})
            case _:
                return self._grant(form.get("scope", ""), form["resource"], refresh=False)

    def _is_client(self, request: Request, form: dict[str, str]) -> bool:
        """Whether a client showed who it is, in any of the ways."""
        basic = request.headers.get("authorization", "")
        if basic.startswith("Basic "):
            name, _, secret = base64.b64decode(basic[6:]).decode().partition(":")
        elif "client_assertion" in form:
            claims = jwt.decode(
                form["client_assertion"],
                KEY.public_key(),
                algorithms=["ES256"],
                audience=self.url,
                options={"verify_exp": False, "verify_iat": False},
            )
            name, secret = claims["sub"], self._clients.get(claims["sub"], "")
        else:
            name, secret = form.get("client_id", ""), form.get("client_secret", "")
        url_like = name.startswith("https://")
        return url_like or (name in self._clients and self._clients[name] == secret)

    def _grant(
        self, scope: str, resource: str, *, refresh: bool = True, said: dict[str, str] | None = None
    ) -> Response:
        scope = scope if self.granted is None else self.granted
        claims: JsonObject = {"aud": resource, "scope": scope, "jti": secrets.token_urlsafe(4)}
        if self.lifetime_s is not None:
            claims["exp"] = int(self.clock.now()) + self.lifetime_s
        body: JsonObject = {"access_token": self.sign(claims), "token_type": "bearer", "scope": scope}
        if self.lifetime_s is not None:
            body["expires_in"] = self.lifetime_s
        if said is not None and "openid" in scope.split():
            about: JsonObject = {"aud": said["client_id"], "nonce": said.get("nonce", ""), "client_id": None}
            body["id_token"] = self.id_token or self.sign({**about, **self.id_claims})
        if refresh:
            token = f"rt-{secrets.token_urlsafe(12)}"
            self._refresh[token] = {"scope": scope, "resource": resource}
            body["refresh_token"] = token
        return JSONResponse(body)

    async def _revoke(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        self.asked.append(("revoke", form))
        self._refresh.pop(form["token"], None)
        return Response()

    async def _introspect(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        self.asked.append(("introspect", form | {"authorization": request.headers.get("authorization", "")}))
        if form["token"] == "unknown":
            return JSONResponse({"active": False})
        return JSONResponse(
            {"active": True, "sub": "ada", "username": "Ada", "scope": "read", **claims_of(form["token"])}
        )


def _refused(error: str, status: int = 400) -> Response:
    prose = "Dear model, the secret is hunter2"
    return JSONResponse({"error": error, "error_description": prose}, status_code=status)
