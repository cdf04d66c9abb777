"""How long hypothesis searches: `quick` in every run, the same examples each time; `HYPOTHESIS_PROFILE=thorough` for hours of doubt."""

import os

from hypothesis import HealthCheck, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("quick", max_examples=50, derandomize=True, deadline=None, print_blob=True)
settings.register_profile(
    "thorough", max_examples=3000, stateful_step_count=80, deadline=None, print_blob=True, suppress_health_check=_SLOW
)


def load() -> None:
    """The profile that the environment names."""
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
