"""A server over HTTP that does what servers should not, by hand: `python -m tests.mcp_servers.odd_http FD`.

FD is the number of a listening socket. What a path speaks is its first part: `/modern`, `/legacy`, `/mute` for one that
answers nothing, `/status/401` for one that always answers that. `/seen` tells what came so far, and forgets it.
"""

from __future__ import annotations

import gzip
import json
import queue
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import Any

from tests.patience import HANGS_S

Message = dict[str, Any]

INFO = {"name": "odd", "version": "1"}
HALF = "a \ud83d b \U0001f600 c"
LATIN = b'[{"type": "text", "text": "a \xe9 b"}]'
seen: list[Message] = []
sessions: set[str] = set()
go = threading.Event()
resumed: dict[str, Message] = {}
old: queue.SimpleQueue[BufferedIOBase] = queue.SimpleQueue()


def answer(number: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": {"content": []}}).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        return

    def note(self, body: Message | None) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen.append({"verb": self.command, "path": self.path, "headers": headers, "body": body})

    def answer(self, status: int, body: bytes = b"", kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def reply(self, message: Message, status: int = 200, **headers: str) -> None:
        self.answer(status, json.dumps({"jsonrpc": "2.0", **message}).encode(), **headers)

    def result(self, number: object, words: str) -> None:
        self.reply({"id": number, "result": {"content": [{"type": "text", "text": words}]}})

    def events(self, *messages: tuple[str, Message]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, message in messages:
            data = json.dumps({"jsonrpc": "2.0", **message})
            self.wfile.write(f"id: {name}\nretry: 1\nevent: message\ndata: {data}\n\n".encode())
        self.wfile.flush()

    def wait_until_gone(self) -> None:
        self.connection.recv(1)
        seen.append({"verb": "GONE", "path": self.path})

    def do_GET(self) -> None:
        if self.path == "/seen":
            told = seen[:]
            del seen[: len(told)]  # and nothing that another thread has noted meanwhile
            self.answer(200, json.dumps(told).encode())
            return
        self.note(None)
        last = self.headers.get("last-event-id")
        if self.path == "/old":
            self.events()
            self.wfile.write(b"event: endpoint\ndata: /old/post\n\n")
            old.put(self.wfile)
            self.wait_until_gone()
        elif not self.path.startswith("/legacy"):
            self.answer(405)
        elif last is not None:
            self.events(("2", resumed.pop(last)))
        else:
            self.events(("g1", {"method": "notifications/tools/list_changed"}))
            self.wait_until_gone()

    def do_DELETE(self) -> None:
        self.note(None)
        sessions.discard(self.headers.get("mcp-session-id", ""))
        self.answer(204)

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.note(message)
        number, method, params = message.get("id"), message.get("method"), message.get("params", {})
        path = self.path.split("/")[1:]
        session = self.headers.get("mcp-session-id")
        if path[0] == "old":
            self.post_of_old(message)
        elif path[0] == "mute":
            self.wait_until_gone()
        elif path[0] == "status":
            self.answer(int(path[1]), b"secret words", "text/plain")
        elif path[0] == "legacy" and method != "initialize" and session not in sessions:
            self.answer(404 if session else 400)
        elif number is None:
            self.answer(202)
        elif method == "initialize":
            sessions.add(f"session-{len(seen)}")
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": INFO}
            self.reply({"id": number, "result": result}, Mcp_Session_Id=f"session-{len(seen)}")
        elif method == "server/discover":
            result = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "serverInfo": INFO}
            self.reply({"id": number, "result": result})
        else:
            self.call(number, params.get("name"), params)

    def post_of_old(self, message: Message) -> None:
        """An answer comes over the stream that is open; all but the handshake is refused."""
        if message["method"] == "tools/call":
            self.answer(500)
            return
        self.answer(202)
        if "id" in message:
            info = {**INFO, "title": "half \ud800"}
            result = {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": info}
            data = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
            stream = old.get()
            stream.write(f"event: message\ndata: {data}\n\n".encode())

    def call(self, number: object, name: str, params: Message) -> None:  # noqa: C901 - one line an oddity
        match name:
            case "headers":
                self.result(number, json.dumps({key.lower(): value for key, value in self.headers.items()}))
            case "cut":
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            case "status":
                self.answer(params["arguments"]["status"], b"secret words", "text/plain", Retry_After="7")
            case "mismatch":
                self.reply({"id": number, "error": {"code": -32020, "message": "HeaderMismatch"}}, 400)
            case "page":
                self.answer(200, b"<html>", "text/html")
            case "of nobody":
                self.result("nobody", "lost")
            case "cut short":
                self.answer(200, answer(number)[:-9])
            case "nothing":
                self.answer(200)
            case "accepted":
                self.answer(202, answer(number))
            case "elsewhere":
                self.answer(302, Location="http://169.254.169.254/")
            case "end of a stream":
                self.events()
            case "gone":
                self.answer(404)
            case "not acceptable":
                self.answer(406, b"secret words", "text/plain")
            case "packed":
                self.answer(200, gzip.compress(b" " * 1_000_000 + answer(number)), Content_Encoding="gzip")
            case "list" | "huge":
                self.reply({"id": number, "result": [1] if name == "list" else {"text": "x" * 34_000_000}})
            case "half":
                self.reply({"id": number, "result": {"content": [{"type": "text", "text": HALF}]}})
            case "half in a stream":
                self.events(("h1", {"id": number, "result": {"content": [{"type": "text", "text": HALF}]}}))
            case "no UTF-8":
                self.answer(200, b"\xef\xbb\xbf" + answer(number).replace(b"[]", LATIN))
            case "wait":
                go.wait(HANGS_S)
                self.result(number, "went on")
            case "go":
                go.set()
                self.result(number, "")
            case "silence":
                token = params["_meta"]["progressToken"]
                told = {"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}}
                self.events(("s1", told))
                self.wait_until_gone()
            case "forget":
                sessions.clear()
                self.result(number, "forgotten")
            case "resume":
                resumed["r1"] = {"id": number, "result": {"content": [{"type": "text", "text": "resumed"}]}}
                self.events(("r1", {"method": "notifications/message", "params": {"level": "info", "data": "later"}}))
            case _:
                self.reply({"id": number, "error": {"code": -32602, "message": f"no {name}"}})


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = socket.socket(fileno=int(sys.argv[1]))
    server.daemon_threads = True
    server.serve_forever()
