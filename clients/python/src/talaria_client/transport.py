"""Sends requests, and sends those again that may be: refused ones always, lost ones only where that does no harm."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Dict, Mapping, Optional, Tuple

import httpx

from .errors import APIError, ConnectionLost, SlotNotFound

DEFAULT_URL = "http://127.0.0.1:8642"
DEFAULT_TIMEOUT_S = 60.0
#: A server that asks for a longer pause is not waited for: the caller decides.
LONGEST_PAUSE_S = 60.0
LARGEST_BACKOFF_S = 8.0

Json = Dict[str, Any]


class Transport:
    def __init__(self, base_url: Optional[str], api_key: Optional[str], max_retries: int) -> None:
        url = base_url or os.environ.get("TALARIA_BASE_URL") or DEFAULT_URL
        key = api_key if api_key is not None else os.environ.get("TALARIA_API_KEY", "")
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._max_retries = max_retries
        # Batches and waits for slots are many at once; a bound here would make them wait for each other.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
        self.base_url = url.rstrip("/").removesuffix("/v1")
        self._http = httpx.AsyncClient(
            base_url=self.base_url, headers=headers, limits=limits, timeout=DEFAULT_TIMEOUT_S
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def json(
        self,
        method: str,
        path: str,
        *,
        body: Optional[Mapping[str, Any]] = None,
        query: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout_s: Optional[float] = DEFAULT_TIMEOUT_S,
        repeat: bool,
    ) -> Json:
        content = await self.bytes(
            method, path, body=body, query=query, headers=headers, timeout_s=timeout_s, repeat=repeat
        )
        try:
            answer = json.loads(content)
        except ValueError as error:
            raise ConnectionLost("The server's answer is not JSON") from error
        if not isinstance(answer, dict):
            raise ConnectionLost("The server's answer is not a JSON object")
        return answer

    async def bytes(
        self,
        method: str,
        path: str,
        *,
        body: Optional[Mapping[str, Any]] = None,
        query: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout_s: Optional[float] = DEFAULT_TIMEOUT_S,
        repeat: bool,
    ) -> bytes:
        """`repeat`: whether the request may be carried out twice."""
        content, typed = _encoded(body)
        retries = 0
        while True:
            try:
                response = await self._http.request(
                    method,
                    path,
                    content=content,
                    params=_given(query),
                    headers={**typed, **(headers or {})},
                    timeout=httpx.Timeout(timeout_s, connect=DEFAULT_TIMEOUT_S),
                )
                if response.is_success:
                    return response.content
                raise to_error(response.status_code, response.headers, response.content)
            except httpx.TransportError as error:
                # Where no connection was made, nothing was carried out.
                may_repeat = repeat or isinstance(error, httpx.ConnectError)
                lost = ConnectionLost(f"{method} {path}: {str(error) or type(error).__name__}")
                if not may_repeat or retries >= self._max_retries:
                    raise lost from error
                pause_s = backoff_s(retries)
            except APIError as error:
                pause_s = error.retry_after_s if error.retry_after_s is not None else backoff_s(retries)
                refused = error.status == 429 or error.code in REFUSED_CODES
                may_repeat = refused or (repeat and error.status >= 500 and error.code not in DONE_CODES)
                if not may_repeat or retries >= self._max_retries or pause_s > LONGEST_PAUSE_S:
                    raise
            retries += 1
            await asyncio.sleep(pause_s)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        body: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        idle_s: float,
    ) -> AsyncIterator[httpx.Response]:
        """The answer while it is read. Silence of `idle_s` is a lost connection; so is anything that breaks off."""
        timeout = httpx.Timeout(DEFAULT_TIMEOUT_S, read=idle_s)
        content, typed = _encoded(body)
        sent = {**typed, **(headers or {})}
        try:
            async with self._http.stream(method, path, content=content, headers=sent, timeout=timeout) as response:
                if not response.is_success:
                    raise to_error(response.status_code, response.headers, await response.aread())
                yield response
        except httpx.TransportError as error:
            raise ConnectionLost(f"{method} {path}: {str(error) or type(error).__name__}") from error


#: The server has done what it could; the same request finds nothing to do.
DONE_CODES = {"slot_not_closed"}
#: The server says that it did not begin.
REFUSED_CODES = {"gateway_draining", "server_busy", "store_unavailable", "sandbox_unavailable"}


def to_json(value: Any) -> bytes:
    """Raises TypeError or ValueError where it cannot be JSON. Half of a character in UTF-16, as a model may say it, can be."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _encoded(body: Optional[Mapping[str, Any]]) -> Tuple[Optional[bytes], Dict[str, str]]:
    return (None, {}) if body is None else (to_json(body), {"content-type": "application/json"})


def backoff_s(retries: int) -> float:
    """Doubles with each try; half of it is chance, so that many clients do not come back at once."""
    return float(min(LARGEST_BACKOFF_S, 0.5 * 2**retries)) * (0.5 + random.random() / 2)


def to_error(status: int, headers: Mapping[str, str], content: bytes) -> APIError:
    code: Optional[str] = None
    message = content.decode("utf-8", "replace")[:1000]
    try:
        error = json.loads(content)["error"]
        message, code = error["message"], error["code"]
    except (ValueError, KeyError, TypeError):
        pass
    kind = SlotNotFound if code == "slot_not_found" else APIError
    return kind(status, code, message, _seconds(headers.get("retry-after")))


def _seconds(value: Optional[str]) -> Optional[float]:
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None


def _given(query: Optional[Mapping[str, Any]]) -> Optional[Dict[str, Any]]:
    if query is None:
        return None
    return {name: value for name, value in query.items() if value is not None}
