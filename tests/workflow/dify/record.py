"""Records what graphon, Dify's own engine, answers for each file of this folder. Needs Python 3.12 and graphon 0.8.0.

    make workflow-oracle

The answers stand in the `.json` file beside each `.yml` file. A file that graphon refuses keeps the answers that were
written by hand. Models and tools are not asked: graphon would need their endpoints. Code runs in a process of this
machine, so record only files that you trust.
"""

import base64
import contextlib
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from graphon.dsl import DslError, loads  # type: ignore[import-not-found, unused-ignore]

FOLDER = Path(__file__).parent
VERSION = "graphon 0.8.0"
STARTS = {"start", "iteration-start", "loop-start"}


class Sandbox(BaseHTTPRequestHandler):
    """What graphon calls to run code."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        code = asked["code"]
        with contextlib.suppress(ValueError):
            code = base64.b64decode(code, validate=True).decode()
        command = ["node", "-e", code] if asked["language"] == "nodejs" else [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        error = done.stderr if done.returncode else ""
        body = json.dumps({"code": 0, "data": {"stdout": done.stdout, "error": error}}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def answer_of(text: str, given: dict[str, object], endpoint: str) -> dict[str, object]:
    """What graphon answers for a file."""
    engine = loads(text, start_inputs=given, workers=1, credentials={"code": {"execution_endpoint": endpoint}})
    nodes: set[str] = set()
    status, outputs, why = "done", {}, ""
    try:
        for event in engine.run():
            kind = type(event).__name__
            if kind in ("NodeRunSucceededEvent", "NodeRunExceptionEvent") and str(event.node_type) not in STARTS:
                nodes.add(event.node_id)
            if kind in ("GraphRunSucceededEvent", "GraphRunPartialSucceededEvent"):
                outputs = dict(event.outputs)
    except RuntimeError as error:  # the engine raises what made the workflow fail
        status, outputs, why = "failed", {}, str(error)
    outputs.pop("files", None)
    return {"status": status, "outputs": outputs, "nodes": sorted(nodes), "error": why}


def main() -> None:
    """Record the answers for all files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Sandbox)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    for path in sorted(FOLDER.glob("*.yml")):
        beside = path.with_suffix(".json")
        case = json.loads(beside.read_text(encoding="utf-8"))
        if case.get("recorded") == "by hand":
            continue
        try:
            found = answer_of(path.read_text(encoding="utf-8"), case.get("inputs", {}), endpoint)
        except DslError as error:
            sys.stderr.write(f"{path.name}: graphon refuses the file: {error}\n")
            continue
        why = found.pop("error")
        if why:
            sys.stderr.write(f"{path.name}: {why}\n")
        case |= {"recorded": VERSION, **found}
        beside.write_text(json.dumps(case, indent=1, ensure_ascii=False, default=str) + "\n", encoding="utf-8")
    server.shutdown()


if __name__ == "__main__":
    main()
