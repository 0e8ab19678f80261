"""`actum init --deploy`: what the files say works, by the commands that stand in them; Docker itself is not there."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from importlib.metadata import version
from pathlib import Path

import httpx2
import pytest
from ruamel.yaml import YAML

from actum.cli.setup.deployment import EXTRAS
from actum.server.web import IDLE_S
from tests.broker import BrokerServer, broker_server
from tests.patience import HANGS_S
from tests.peers.programs import free_port
from tests.postgres import PostgresServer
from tests.transport.wire_servers import key_pair

from .conftest import Run

pytestmark = pytest.mark.row("A6")
DEPLOY = Path(__file__).parents[2] / "docs" / "deploy.md"
NEEDED = re.compile(r"\$\{([A-Z_]+)(?::\?[^}]*)?\}")


@pytest.fixture
def ops(run: Run, home: Path) -> Path:
    assert run("init", "--deploy", "ops").exit_code == 0
    return home / "ops"


def services(ops: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = YAML(typ="safe").load((ops / "compose.yaml").read_text("utf-8"))["services"]
    return found


def test_a_file_that_is_there_stays_as_it_is_and_the_others_are_written(run: Run, ops: Path) -> None:
    before = {path: path.read_text("utf-8") for path in ops.iterdir()}
    (ops / "Caddyfile").write_text("mine", "utf-8")
    (ops / "compose.yaml").unlink()
    (ops / "nginx.conf").unlink()
    (ops / "nginx.conf").symlink_to("elsewhere")
    again = run("init", "--deploy", "ops")
    assert again.exit_code == 0
    told = re.sub(r"\s+", " ", again.stderr)
    assert "wrote compose.yaml into ops" in told
    assert "left as they are in ops: Caddyfile, Dockerfile, " in told
    assert (ops / "Caddyfile").read_text("utf-8") == "mine"
    assert (ops / "compose.yaml").read_text("utf-8") == before[ops / "compose.yaml"]
    assert not (ops / "elsewhere").exists()
    assert "nothing was written" in run("init", "--deploy", "ops").stderr
    assert (run("init", "--deploy", "tools.py/x").exit_code, (ops.parent / "tools.py").is_file()) == (2, True)


def test_the_files_name_every_variable_and_no_secret(ops: Path) -> None:
    before = {path: path.read_text("utf-8") for path in ops.iterdir()}
    named = {name for text in before.values() for name in NEEDED.findall(text) if name != "ACTUM_HOST"} | {"ACTUM_HOST"}
    assert named == set(re.findall(r"^([A-Z_]+)=$", before[ops / ".env.example"], re.MULTILINE))
    assert all("@" not in text.replace("@postgres", "") for text in before.values())
    images = re.findall(r"(?:image: |FROM )(\S+:\S+)", before[ops / "compose.yaml"] + before[ops / "Dockerfile"])
    assert len(images) == 4
    assert all(re.search(r":\d+\.\d+", image) for image in images)


def test_servers_and_workers_are_shut_in_and_ended_in_time_and_proxies_wait_long_enough(ops: Path) -> None:
    settings = (ops / "actum.toml").read_text("utf-8")
    end_s, hold_s = (float(*re.findall(rf"^{name} = ([\d.]+)", settings, re.MULTILINE)) for name in ("end_s", "hold_s"))
    for name in ("server", "worker"):
        service = services(ops)[name]
        assert (service["read_only"], service["cap_drop"], service["user"]) == (True, ["ALL"], "10001:10001")
        assert float(str(service["stop_grace_period"]).removesuffix("s")) > end_s
    for name, service in services(ops).items():
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service.get("cap_add") == (["NET_BIND_SERVICE"] if name == "caddy" else None)
    assert services(ops)["server"]["deploy"] == {"replicas": 2}
    assert float(*re.findall(r"proxy_read_timeout (\d+)s", (ops / "nginx.conf").read_text("utf-8"))) > hold_s
    assert 60 * float(*re.findall(r"read_timeout (\d+)m", (ops / "Caddyfile").read_text("utf-8"))) > hold_s
    kept = {"nginx.conf": r"keepalive_timeout (\d+)s", "Caddyfile": r"keepalive (\d+)s"}
    for name, line in kept.items():  # a server that closes first leaves a request on its way without an answer
        assert float(*re.findall(line, (ops / name).read_text("utf-8"))) < IDLE_S, name


def test_the_compose_file_fits_the_schema_of_the_compose_specification(ops: Path) -> None:
    """check-jsonschema has the schema in its package."""
    checks = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    fits = subprocess.run([*checks, str(ops / "compose.yaml")], capture_output=True, text=True, check=False)
    assert fits.returncode == 0, fits.stdout
    (ops / "compose.yaml").write_text("services: {server: {cap_drop: ALL}}", "utf-8")
    assert subprocess.run([*checks, str(ops / "compose.yaml")], capture_output=True, check=False).returncode == 1


def takes(name: str, *words: str, **environment: str) -> bool:
    """Whether a program of this system takes a file, where the program is installed: no machine needs it for tests."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        return True
    tried = subprocess.run([found, *words], env=environment or None, capture_output=True, text=True, check=False)
    assert tried.returncode == 0, tried.stderr
    return True


def lines_of(path: Path) -> list[str]:
    """The lines of a file that say something."""
    lines = [line.partition("#")[0].strip() for line in path.read_text("utf-8").splitlines()]
    return [line for line in lines if line]


def test_nginx_takes_its_file(ops: Path) -> None:
    lines = lines_of(ops / "nginx.conf")
    assert [line for line in lines if line[-1] not in ";{}"] == []
    assert sum(line[-1] == "{" for line in lines) == lines.count("}")
    key, certificate = key_pair("actum.example.com")
    (ops / "key.pem").write_text(key, "ascii")
    (ops / "certificate.pem").write_text(certificate, "ascii")
    site = (ops / "nginx.conf").read_text("utf-8").replace("/etc/nginx/", f"{ops}/")
    site = site.replace("server server:", "server 127.0.0.1:")
    (ops / "whole.conf").write_text(f"pid {ops}/pid;\nevents {{}}\nhttp {{\n{site}\n}}\n", "utf-8")
    assert takes("nginx", "-t", "-q", "-p", str(ops), "-e", "stderr", "-c", str(ops / "whole.conf"))


def test_caddy_takes_its_file(ops: Path) -> None:
    lines = lines_of(ops / "Caddyfile")
    assert sum(line.endswith(" {") for line in lines) == lines.count("}")
    command = ("validate", "--adapter", "caddyfile", "--config", str(ops / "Caddyfile"))
    assert takes("caddy", *command, ACTUM_HOST="actum.example.com", HOME=str(ops))


def test_systemd_takes_its_file(ops: Path) -> None:
    text = (ops / "actum.service").read_text("utf-8").replace("/opt/actum/bin/actum", sys.executable)
    (ops / "actum.service").write_text(text, "utf-8")
    sections = [line for line in lines_of(ops / "actum.service") if line.startswith("[")]
    assert sections == ["[Unit]", "[Service]", "[Install]"]
    assert takes("systemd-analyze", "verify", str(ops / "actum.service"))


@pytest.mark.parametrize("wheel", ["", "actum-0.1.0-py3-none-any.whl"])
def test_the_image_installs_the_wheel_beside_it_or_the_version_that_wrote_it(ops: Path, wheel: str) -> None:
    wheels = ops.parent / "wheels"
    wheels.mkdir()
    if wheel:
        (wheels / wheel).touch()
    (line,) = re.findall(r"RUN (wheel=.*?)\n\n", (ops / "Dockerfile").read_text("utf-8").replace("\\\n", ""), re.DOTALL)
    told = line.replace("/opt/actum/bin/pip", "echo").replace("/wheels/", f"{wheels}/")
    said = subprocess.run(["sh", "-ec", told], capture_output=True, text=True, check=True).stdout
    what = f"{wheels}/{wheel}[{EXTRAS}]" if wheel else f"actum[{EXTRAS}]=={version('actum')}"
    assert said == f"install --no-cache-dir {what}\n"


@contextmanager
def started(ops: Path, command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    program = str(Path(sys.executable).with_name(command[0]))
    with (ops / "log").open("ab") as log:
        process = subprocess.Popen([program, *command[1:]], cwd=ops, env=environment, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            began = time.monotonic()
            try:
                process.wait(30)
            finally:
                process.kill()
    assert time.monotonic() - began < 30


def _takes_connections(port: int) -> bool:
    with closing(socket.socket()) as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


async def test_two_servers_and_a_worker_start_by_the_commands_of_compose_and_share_a_task(
    ops: Path, postgres: PostgresServer
) -> None:
    known = services(ops)
    ports = [free_port(), free_port()]
    with ExitStack() as stack:
        broker: BrokerServer = stack.enter_context(broker_server())
        values = {"ACTUM_HOST": "actum.example.com", "ACTUM_KEY": "k" * 40, "ACTUM_SECRETS_KEY": "s" * 44}
        wanted = {**dict(known["server"]["environment"])}  # type: ignore[call-overload]
        assert set(wanted) == {"ACTUM_JOURNAL", "ACTUM_BROKER", "ACTUM_KEY", "ACTUM_SECRETS_KEY"}
        places = {"ACTUM_JOURNAL": postgres.new_database(), "ACTUM_BROKER": broker.url}
        environment = {"PATH": os.environ["PATH"], "HOME": str(ops), "XDG_STATE_HOME": str(ops / "state")}
        environment |= {name: value for name, value in values.items() if name in wanted} | places

        def command(name: str) -> list[str]:
            return [NEEDED.sub(lambda found: values[found[1]], str(word)) for word in known[name]["command"]]  # type: ignore[attr-defined]

        given = command("server")[2:]  # behind `actum serve`
        checked = [str(Path(sys.executable).with_name("actum")), "config", "check", *given]
        done = await asyncio.to_thread(
            subprocess.run, checked, cwd=ops, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        for port in ports:
            stack.enter_context(started(ops, [*command("server"), "--http", f"127.0.0.1:{port}"], environment))
        metrics = f"127.0.0.1:{free_port()}"
        stack.enter_context(started(ops, [*command("worker"), "--metrics", metrics], environment))
        check = [str(word) for word in known["server"]["healthcheck"]["test"]][1:]  # type: ignore[index]
        for port in ports:
            healthy = [sys.executable, *[word.replace(":8000", f":{port}") for word in check[1:]]]
            async with asyncio.timeout(HANGS_S):
                while not _takes_connections(port):  # noqa: ASYNC110  # the check takes an interpreter each time
                    await asyncio.sleep(0.1)
                while (await asyncio.to_thread(subprocess.run, healthy, capture_output=True)).returncode:  # noqa: ASYNC110
                    await asyncio.sleep(0.2)
        headers = {"authorization": f"Bearer {values['ACTUM_KEY']}", "host": "actum.example.com"}
        async with httpx2.AsyncClient(headers=headers, timeout=HANGS_S) as http:
            body = {"arguments": {"expression": "2 + 3"}, "execute_async": True}
            accepted = await http.post(f"http://127.0.0.1:{ports[0]}/v1/tools/calculate/call", json=body)
            assert accepted.status_code == 202, accepted.text
            place = f"http://127.0.0.1:{ports[1]}{accepted.headers['location']}?wait=30"
            told = (await http.get(place)).json()
            assert (told["state"], "5" in str(told["result"])) == ("succeeded", True), told
            counted = (await http.get(f"http://{metrics}/metrics", headers={"host": metrics})).text
            assert 'actum_calls_total{outcome="done"} 1.0' in counted, "the worker tells what it has done"
            assert "actum_approvals_waiting 0.0" in counted
            actum, said = checked[0], re.search(r"server actum (keys add .*)", DEPLOY.read_text("utf-8"))
            assert said is not None
            made = await asyncio.to_thread(
                subprocess.run, [actum, *said[1].split()], cwd=ops, env=environment, capture_output=True, text=True
            )
            of_ann = {"authorization": f"Bearer {made.stdout.strip()}"}
            runs = await http.get(f"http://127.0.0.1:{ports[1]}/v1/runs", headers=of_ann)
            assert runs.status_code == 200, "the key that the guide makes opens something"
            nobody = await http.get(f"http://127.0.0.1:{ports[1]}/v1/tasks", headers={"authorization": "Bearer x"})
            assert nobody.status_code == 401
