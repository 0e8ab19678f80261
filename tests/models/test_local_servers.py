"""Servers on this machine are asked for their lists of models, and for nothing else."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from actum.core.errors import UsageError
from actum.models.local_servers import LOOK_S_MAX, LocalModel, find_local_models
from actum.transport.plain_get import BODY_BYTES_MAX, plain_get
from tests.chat_server import ChatServer

NOBODY = {f"{server}_HOST": "no-server.invalid" for server in ("OLLAMA", "LLAMACPP", "LMSTUDIO", "VLLM")}
KEYS = {"OLLAMA_API_KEY": "sk-mine", "ACTUM_API_KEY": "sk-mine"}


async def test_a_model_is_found_by_a_bare_get_and_nothing_else_is_sent() -> None:
    names = ["qwen3:8b", "nomic-embed-text", "evil\x1b[2J", "", "x" * 300, "qwen3:8b"]
    with ChatServer([], models=names) as server:
        environment = {**NOBODY, **KEYS, "OLLAMA_BASE_URL": server.url, "VLLM_BASE_URL": server.url}
        found = await find_local_models(environment, wait_s=10.0)
    assert found == [LocalModel("ollama:qwen3:8b", server.url), LocalModel("vllm:qwen3:8b", server.url)]
    assert [(asked.path, asked.query, asked.body) for asked in server.looked] == [("/v1/models", "", b"")] * 2
    assert all(set(asked.headers) == {"host", "accept"} for asked in server.looked)
    assert (server.requests, server.probes) == ([], 0)


@contextlib.contextmanager
def saying(*pieces: bytes, hangs_up: bool = True) -> Iterator[str]:
    """A server that says this whatever it is asked; its address."""
    over = threading.Event()

    def serve(listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                for piece in pieces:
                    connection.sendall(piece)
                if not hangs_up:
                    over.wait(30)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        over.set()


HEAD = b"HTTP/1.1 200 OK\r\n"
LIST = b'{"data": [{"id": "m"}]}'


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        ((HEAD, b"\r\n", LIST), True),
        ((HEAD, b"Content-Length: 23\r\n\r\n", LIST[:5], LIST[5:]), True),
        ((HEAD, b"Transfer-Encoding: chunked\r\n\r\n5\r\n", LIST[:5], b"\r\n12\r\n", LIST[5:], b"\r\n0\r\n\r\n"), True),
        ((HEAD, b"\r\n", LIST[:10] + b'7, {"id": 7}, {}, ' + LIST[10:]), True),
        ((HEAD, b"\r\n", b"<html>"), False),
        ((HEAD, b"\r\n", b'{"data": ["m"]}'), False),
        ((HEAD, b"\r\n", b"[" * 5000), False),
        ((b"HTTP/1.1 302 Found\r\nLocation: /v1/models\r\n\r\n", LIST), False),
        ((b"HTTP/1.1 401 Unauthorized\r\n\r\n", LIST), False),
        ((b"SSH-2.0-OpenSSH_9.6\r\n",), False),
        ((HEAD, b"Transfer-Encoding: chunked\r\n\r\n", b"zz\r\n"), False),
        ((HEAD, b"\r\n", b" " * BODY_BYTES_MAX, LIST), False),
        ((), False),
    ],
)
async def test_whatever_listens_there_only_a_list_is_a_list(pieces: tuple[bytes, ...], found: bool) -> None:
    with saying(*pieces) as url:
        models = await find_local_models({**NOBODY, "VLLM_HOST": url}, wait_s=10.0)
    assert models == ([LocalModel("vllm:m", f"{url}/v1")] if found else [])


async def test_an_answer_whose_length_was_told_is_not_waited_past() -> None:
    with saying(HEAD, b"content-length: 23\r\n\r\n", LIST, hangs_up=False) as url:
        assert await plain_get(f"{url}/v1/models") == LIST


async def test_who_keeps_silent_is_waited_for_no_longer_than_that() -> None:
    assert LOOK_S_MAX == 0.1
    with saying(hangs_up=False) as silent, ChatServer([], models=["m"]) as server:
        environment = {**NOBODY, "OLLAMA_HOST": silent, "VLLM_BASE_URL": server.url}
        assert [model.name for model in await find_local_models(environment, wait_s=1.0)] == ["vllm:m"]


@pytest.mark.parametrize("url", ["http://example.com/v1/models", "https://127.0.0.1/", "file:///etc/passwd", "http://"])
async def test_what_is_not_on_this_machine_is_not_asked(url: str) -> None:
    with pytest.raises(UsageError):
        await plain_get(url)
