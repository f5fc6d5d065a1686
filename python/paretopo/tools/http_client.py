"""JSON over HTTP with retries, for clients of servers that run next to the training."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

_RETRIED = frozenset({429, 502, 503, 504})  # the server is there, or nearly, and asks for patience


class ServerError(RuntimeError):
    """The server is gone, refuses the request, or answers with something else than agreed."""


class JsonClient:
    """Posts JSON and reads JSON; any number of threads may use it at once.

    A server that does not answer, or answers 429, 502, 503 or 504, is asked again after a pause
    that doubles each time, with a random part so that many clients do not come back together.

    Args:
        server: The kind of server, for error messages, for example "search server".
        url: its address.
        timeout: seconds to wait for an answer.
        connections: requests at a time.
        retries: further attempts after the first.
        backoff: seconds before the first of them.
    """

    def __init__(
        self,
        server: str,
        url: str,
        *,
        timeout: float,
        connections: int,
        retries: int = 5,
        backoff: float = 0.5,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"url must begin with http:// or https://, got {url!r}")
        self._server, self.url = server, url.rstrip("/")
        self._retries, self._backoff = retries, backoff
        import httpx  # a configuration loads without it

        self._client = httpx.Client(
            timeout=httpx.Timeout(timeout, connect=min(timeout, 10.0), pool=None),
            limits=httpx.Limits(max_connections=connections),
            trust_env=False,  # servers next to the training use no proxy
        )

    def post(self, path: str, message: dict[str, Any]) -> Any:
        """Send a message to `url + path`; returns the answer.

        Raises:
            ServerError: no answer after all attempts, a refusal, or an answer that is not JSON.
        """
        from httpx import TransportError

        url = self.url + path
        started = time.monotonic()
        for attempt in range(self._retries + 1):
            if attempt > 0:
                time.sleep(self._backoff * 2 ** (attempt - 1) * random.uniform(1.0, 1.5))
            try:
                answer = self._client.post(url, json=message)
            except TransportError as error:
                trouble = f"{type(error).__name__}: {error}"
                continue
            if answer.status_code in _RETRIED:
                trouble = _describe_failure(answer)
                continue
            if answer.status_code != 200:
                raise ServerError(
                    f"the {self._server} at {url} refuses: {_describe_failure(answer)}"
                )
            try:
                return answer.json()
            except ValueError:
                raise ServerError(
                    f"the {self._server} at {url} answers with something else than JSON: "
                    f"{answer.text[:200]!r}"
                ) from None
        seconds = time.monotonic() - started
        raise ServerError(
            f"the {self._server} at {url} does not answer, tried {self._retries + 1} times in "
            f"{seconds:.0f} s: {trouble}; is it running, and is the address right?"
        )

    def close(self) -> None:
        """Close all connections."""
        self._client.close()


def _describe_failure(answer: httpx.Response) -> str:
    try:
        body = answer.json()
    except ValueError:
        body = answer.text
    reason = body.get("error", body.get("detail", body)) if isinstance(body, dict) else body
    return f"{answer.status_code} {str(reason)[:300]}"
