"""Authorization of a client on a Python SDK without a browser (docs/clients.md): the authorization endpoint redirects at once."""

import asyncio
from http.client import HTTPConnection
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata

from contract import context, setup

REDIRECT_URL = "http://127.0.0.1:8765/callback"
METADATA = {
    "client_name": "adapter",
    "redirect_uris": [REDIRECT_URL],
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
}


class Memory:
    """A `TokenStorage` for one case, with the client that is registered in advance."""

    def __init__(self):
        self.tokens, self.client = None, None
        if client_id := context.get("client_id"):
            secret = context.get("client_secret")
            method = "client_secret_basic" if secret else "none"
            registered = {"client_id": client_id, "client_secret": secret, "token_endpoint_auth_method": method}
            self.client = OAuthClientInformationFull(**METADATA, **registered, issuer=context.get("client_issuer"))

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


def authorization_code(url, result):
    """A provider for the authorization code. `result` makes the SDK's result of code, state and issuer."""
    response = {}

    def visit(page):
        parts = urlsplit(page)
        connection = HTTPConnection(parts.netloc, timeout=10)
        connection.request("GET", f"{parts.path}?{parts.query}")
        location = connection.getresponse().headers.get("location") or ""
        connection.close()
        return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}

    async def redirect(page):
        response.clear()
        response.update(await asyncio.to_thread(visit, page))

    async def callback():
        if "code" not in response:
            raise RuntimeError(f"the authorization endpoint sent no code: {response.get('error')}")
        return result(response["code"], response.get("state"), response.get("iss"))

    metadata = OAuthClientMetadata(**METADATA)
    metadata_url = context.get("client_metadata_url")
    return OAuthClientProvider(url, metadata, Memory(), redirect, callback, client_metadata_url=metadata_url)


def provider(url, result):
    """The authorization of requests to a server; `None` for a case without it."""
    client_id, key = context.get("client_id"), context.get("private_key_pem")
    match setup.get("authorization"):
        case "authorization-code":
            return authorization_code(url, result)
        case "client-credentials" if key:
            algorithm = context.get("signing_algorithm") or "RS256"
            jwt = SignedJWTParameters(issuer=client_id, subject=client_id, signing_key=key, signing_algorithm=algorithm)
            return PrivateKeyJWTOAuthProvider(url, Memory(), client_id, jwt.create_assertion_provider())
        case "client-credentials":
            return ClientCredentialsOAuthProvider(url, Memory(), client_id, context.get("client_secret"))
    return None
