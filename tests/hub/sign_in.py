"""Signing in to applications with an account of the loopback Hub: OpenID Connect, as Spaces use it.

Whoever asks is ``ada``; there is no page that asks for a password.
"""

import base64
import secrets
import time
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse
from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT_ID, CLIENT_SECRET = "space", "space-secret"
USER = "ada"


def add_sign_in(app: FastAPI) -> None:
    """Add the provider's addresses to the Hub."""
    key = RSAKey.generate_key(2048, {"kid": "1"})
    asked: dict[str, str] = {}

    @app.get("/.well-known/openid-configuration")
    def configuration(request: Request) -> dict[str, Any]:
        base = str(request.base_url).rstrip("/")
        return {
            "issuer": base,
            "authorization_endpoint": f"{base}/oauth/authorize",
            "token_endpoint": f"{base}/oauth/token",
            "userinfo_endpoint": f"{base}/oauth/userinfo",
            "jwks_uri": f"{base}/oauth/jwks",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    @app.get("/oauth/jwks")
    def keys() -> dict[str, Any]:
        return {"keys": [key.as_dict(private=False)]}

    @app.get("/oauth/authorize")
    def authorize(client_id: str, redirect_uri: str, state: str, nonce: str = "") -> RedirectResponse:
        assert client_id == CLIENT_ID
        code = secrets.token_hex(8)
        asked[code] = nonce
        joiner = "&" if "?" in redirect_uri else "?"
        return RedirectResponse(f"{redirect_uri}{joiner}{urlencode({'code': code, 'state': state})}")

    @app.post("/oauth/token")
    async def token(request: Request) -> dict[str, Any]:
        client = base64.b64decode(request.headers["authorization"].removeprefix("Basic ")).decode()
        assert client == f"{CLIENT_ID}:{CLIENT_SECRET}"
        now = int(time.time())
        claims = {
            "iss": str(request.base_url).rstrip("/"),
            "sub": "1",
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 3600,
            "nonce": asked.pop(str((await request.form())["code"])),
            "name": "Ada",
            "preferred_username": USER,
            "profile": f"https://huggingface.co/{USER}",
            "picture": "https://huggingface.co/avatars/ada.svg",
        }
        signed = jwt.encode({"alg": "RS256", "kid": "1"}, claims, key)
        return {
            "access_token": "hf_oauth",
            "token_type": "bearer",
            "expires_in": 3600,
            "scope": "openid profile",
            "id_token": signed,
        }
