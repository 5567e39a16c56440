"""The files of docs/deploy are what systemd, cron and Docker can read, and start commands that exist."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from msgspec import Struct, structs
from typer.main import get_command

from pipelines.cli import app
from pipelines.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

INSTALLED = "/opt/ordermart/.venv/bin/ordermart"
AS_USER = "/usr/local/bin/ordermart"  # docs/deploy/ordermart


def commands(project: Path) -> list[list[str]]:
    """Return the arguments with which the files start ordermart."""
    folder = project / "docs" / "deploy"
    found = [line for file in folder.iterdir() if file.name != "compose.yaml" for line in file.read_text().splitlines()]
    started = [
        re.split(r"[>|]", line.partition(program)[2])[0].split()
        for line in found
        for program in (INSTALLED, AS_USER)
        if program in line and not line.startswith("#") and '"$@"' not in line
    ]
    service = yaml.safe_load((folder / "compose.yaml").read_text())["services"]["ordermart"]
    return [*started, service["command"], service["healthcheck"]["test"][2:]]


def test_every_command_and_option_exists(project: Path) -> None:
    """A unit, a crontab or a container starts only commands and options that the command line has."""
    found = commands(project)
    assert len(found) >= 8
    for words in found:
        command = get_command(app)
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]  # type: ignore[attr-defined]
        assert not hasattr(command, "commands"), words
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, words


def test_systemd_accepts_the_units(project: Path, tmp_path: Path) -> None:
    """`systemd-analyze verify` has nothing to say of them, and does of a planted fault."""
    verify = shutil.which("systemd-analyze")
    if not verify:
        pytest.skip("there is no systemd here")
    units = []
    for file in sorted((project / "docs" / "deploy").glob("ordermart*.*")):
        unit = tmp_path / file.name
        unit.write_text(file.read_text().replace(INSTALLED, sys.executable))  # a program that is there
        units.append(str(unit))
    assert len(units) >= 6

    def said() -> str:
        done = subprocess.run([verify, "verify", "--man=no", *units], capture_output=True, text=True, check=False)
        return "\n".join(line for line in (done.stdout + done.stderr).splitlines() if str(tmp_path) in line)

    assert said() == ""
    timer = tmp_path / "ordermart.timer"
    timer.write_text(timer.read_text().replace("OnCalendar=*-*-*", "OnCalendar=never"))
    assert "calendar specification" in said()


def test_no_secret_passes_through_a_shell(project: Path, tmp_path: Path) -> None:
    """The file of the environment has names of files alone, which a shell and systemd read in the same way."""
    text = (project / "docs" / "deploy" / "environment").read_text()
    named = dict(line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))
    assert all(name == "ORDERMART_CONFIG" or name.endswith("_FILE") for name in named)
    assert not re.search(r"[$&#'\"\\\s]", "".join(named.values()))
    script = (project / "docs" / "deploy" / "ordermart").read_text()
    secret = tmp_path / "client_secret"
    secret.write_text("a$HOME&b#c'd\n")
    (tmp_path / "environment").write_text(f"ORDERMART_PARTNER__CLIENT_SECRET_FILE={secret}\n")
    program = "from pipelines.settings import load_settings as l; print(l().partner.client_secret.reveal())"
    script = script.replace("/etc/ordermart", str(tmp_path)).replace("$(id -un)", "ordermart")
    script = script.replace(f'{INSTALLED} "$@"', f'{sys.executable} -c "{program}"')
    secret.chmod(0o400)
    done = subprocess.run(["sh", "-c", script], cwd=project, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "a$HOME&b#c'd"


def test_nginx_asks_for_a_password(project: Path) -> None:
    """Whatever nginx passes to Dagster needs a password; webhooks, which bring none, have a rate and a size."""
    text = (project / "docs" / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    assert text.count("{") == text.count("}")
    locations = dict(re.findall(r"location ([^{]+) \{(.*?)\}", text, flags=re.DOTALL))
    pages = {name for name, body in locations.items() if "127.0.0.1:3000" in body}
    assert pages == {"/"}
    assert "auth_basic_user_file" in locations["/"]
    assert locations.keys() - pages == {"= /webhooks"}
    assert {"limit_req", "nodelay;", "client_max_body_size"} <= set(locations["= /webhooks"].split())


def test_operations_names_every_file_and_alarm(project: Path) -> None:
    """docs/OPERATIONS.md names each file of docs/deploy, and says of every alarm what to do first."""
    text = (project / "docs" / "OPERATIONS.md").read_text(encoding="utf-8")
    for file in (project / "docs" / "deploy").iterdir():
        assert f"`{file.name}`" in text
    sources = "".join(each.read_text(encoding="utf-8") for each in (project / "pipelines" / "report").glob("*.py"))
    causes = set(re.findall(r'Alarm\(\s*f?"(\w+)', sources))
    assert len(causes) >= 6
    for cause in causes:
        assert f"| {cause.replace('_', ' ')} |" in text


def unresolved(compose: dict[str, Any]) -> set[str]:
    """Return what a service of a compose file names and the file does not declare, nor the settings know."""
    service = compose["services"]["ordermart"]
    environment = service["environment"]
    sources = {volume.partition(":")[0] for volume in service["volumes"]}
    mounted = {f"/run/secrets/{name}" for name in service["secrets"]}
    wanted = {value for name, value in environment.items() if name.endswith("_FILE")}
    named = {name.removesuffix("_FILE") for name in environment if name.startswith("ORDERMART_") and "__" in name}
    tables = {field.name: field.type for field in structs.fields(Settings) if isinstance(field.type, type)}
    known = {
        f"ORDERMART_{name}__{field.name}".upper()
        for name, table in tables.items()
        if issubclass(table, Struct)
        for field in structs.fields(table)
    }
    return {
        *(set(service["secrets"]) - compose["secrets"].keys()),
        *({source for source in sources if not source.startswith("/")} - compose["volumes"].keys()),
        *(wanted - mounted),
        *(named - known),
    }


def test_compose_file_declares_what_it_names(project: Path) -> None:
    """Secrets, volumes and settings of the container exist; a planted fault of each kind is found."""
    text = (project / "docs" / "deploy" / "compose.yaml").read_text()
    assert unresolved(yaml.safe_load(text)) == set()
    for right, wrong in (
        ("secrets: [client_id,", "secrets: [client_ids, client_id,"),
        ("- data:/var", "- date:/var"),
        ("/run/secrets/master_key", "/run/secrets/masterkey"),
        ("ORDERMART_DATA__DIR", "ORDERMART_DATA__DIRECTORY"),
    ):
        assert unresolved(yaml.safe_load(text.replace(right, wrong, 1))), wrong


def compose_command() -> list[str]:
    """Return how Docker Compose is called here; nothing where it is not installed."""
    docker = shutil.which("docker")
    if docker and not subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        return [docker, "compose"]
    alone = shutil.which("docker-compose")
    return [alone] if alone else []


@pytest.mark.slow
@pytest.mark.compose
@pytest.mark.skipif(not compose_command(), reason="Docker Compose is not installed: compose.yaml is not read by it")
def test_docker_accepts_the_compose_file(project: Path, tmp_path: Path) -> None:
    """`docker compose config` reads it, and refuses a planted fault; neither needs Docker itself."""
    file, wrong = project / "docs" / "deploy" / "compose.yaml", tmp_path / "compose.yaml"
    wrong.write_text(file.read_text(encoding="utf-8").replace("restart: ", "restarts: ", 1), encoding="utf-8")
    for each, code in ((file, 0), (wrong, 1)):
        command = [*compose_command(), "-f", str(each), "config", "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert bool(done.returncode) == bool(code), done.stderr
    assert "restarts" in done.stderr
