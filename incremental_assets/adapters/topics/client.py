"""The settings of a source as those of the client: brokers, TLS, and who asks."""

from __future__ import annotations

from typing import Any

from incremental_assets.core.config.kafka_settings import KafkaSettings

_MILLISECONDS = 15_000


def client_settings(settings: KafkaSettings) -> dict[str, Any]:
    """Of settings whose references were followed."""
    encrypted = settings.tls != "disable"
    found: dict[str, Any] = {
        "bootstrap.servers": str(settings.bootstrap_servers),
        "security.protocol": f"{'SASL_' if settings.sasl else ''}{'SSL' if encrypted else 'PLAINTEXT'}",
        "client.id": "incremental-assets",
        "socket.timeout.ms": _MILLISECONDS,
        # What it has to say is in the errors; its own lines would go to the terminal.
        "log_level": 0,
    }
    if encrypted:
        found["enable.ssl.certificate.verification"] = True
        found["ssl.endpoint.identification.algorithm"] = "https" if settings.tls == "verify-full" else "none"
        if settings.ca:
            found["ssl.ca.location"] = settings.ca
    if settings.sasl:
        found |= {
            "sasl.mechanism": settings.sasl.upper(),
            "sasl.username": str(settings.user),
            "sasl.password": str(settings.password),
        }
    return found
