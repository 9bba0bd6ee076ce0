"""Who may talk to the studio: a browser on this machine that was let in by a link."""

import secrets
from collections.abc import Awaitable, Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ENTRANCE = "/enter"
# A page about a release draws its charts by scripts of its own. It runs in a box without an origin,
# from which nothing of the studio can be reached.
BOXED = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; sandbox allow-scripts allow-downloads; frame-ancestors 'self'"
)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",  # stricter, and forms would not say where they come from
    "X-Content-Type-Options": "nosniff",
}
# What lets a browser in: a page of our own goes on, because a browser that came from another site
# would not send a strict cookie along a redirect.
WELCOME = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>tabveil studio</title>'
    '<meta http-equiv="refresh" content="0; url={home}"><p><a href="{home}">Go on</a></p></html>'
)
LOCKED_OUT = (
    "This studio is open to one browser only: the one that followed the link in the terminal.\n"
    "Hint: copy the newest link that the terminal shows; each works once."
)


class Keys:
    """The token of the link, good for one use, and the secret of the browser that used it."""

    def __init__(self, port: int, announce: Callable[[str], None], *, home: str = "/") -> None:
        self.port, self.home, self._announce = port, home, announce
        self.cookie = f"tabveil-{port}"  # cookies know no ports; two servers must not mix theirs
        self._secrets: list[str] = []
        self._token = secrets.token_urlsafe(32)

    @property
    def link(self) -> str:
        """The address that lets one browser in."""
        return f"http://127.0.0.1:{self.port}{ENTRANCE}?token={self._token}"

    def use(self, token: str) -> str | None:
        """The secret for a browser that brought the right token, which is then used up."""
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            return None
        self._token = secrets.token_urlsafe(32)
        self._secrets.append(secrets.token_urlsafe(32))
        self._announce(self.link)
        return self._secrets[-1]

    def knows(self, secret: str) -> bool:
        """Whether this is the secret of a browser that was let in."""
        held = [secrets.compare_digest(secret.encode(), known.encode()) for known in self._secrets]
        return any(held)


class Guard:
    """Stands before every page: refuses strangers, sends answers off with a strict policy."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self.app, self.keys = app, keys
        self.hosts = {f"127.0.0.1:{keys.port}", f"localhost:{keys.port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            refusal = self._refusal(scope)
            await (refusal or self.app)(scope, receive, _guarded(send))

    def _refusal(self, scope: Scope) -> Response | None:
        """Why this request is not answered, or how a browser is let in; none if it may pass."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self.hosts:  # another name may be an attacker's that leads here
            return _refused(f"This studio answers at 127.0.0.1:{self.keys.port} only.", 421)
        if self._from_elsewhere(headers, host, scope["method"]):
            return _refused("Another site asked for this; it is not answered.", 403)
        if scope["path"] == ENTRANCE and scope["method"] == "GET":  # a mere look uses nothing up
            return self._let_in(scope)
        if not self.keys.knows(_cookies(headers).get(self.keys.cookie, "")):
            return _refused(LOCKED_OUT, 403)
        return None

    def _from_elsewhere(self, headers: Headers, host: str, method: str) -> bool:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        changes = method not in ("GET", "HEAD")
        if origin is not None and origin != f"http://{host}":
            return True
        if changes:
            return origin is None or site not in ("none", "same-origin")
        # Following a link is harmless: nothing changes, and no other site can read the answer.
        follows = headers.get("sec-fetch-mode") == "navigate"
        return site not in ("none", "same-origin") and not follows

    def _let_in(self, scope: Scope) -> Response:
        [token] = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[:1]
        secret = self.keys.use(token)
        if secret is None:
            return _refused(LOCKED_OUT, 403)
        answer = HTMLResponse(WELCOME.format(home=self.keys.home))
        answer.set_cookie(self.keys.cookie, secret, httponly=True, samesite="strict", path="/")
        return answer


def _refused(text: str, status: int) -> Response:
    return PlainTextResponse(text, status)


def _cookies(headers: Headers) -> dict[str, str]:
    try:
        found = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return {}
    return {name: morsel.value for name, morsel in found.items()}


def _guarded(send: Send) -> Callable[[Message], Awaitable[Any]]:
    """The same sender, with headers that keep pages to themselves."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return guarded
