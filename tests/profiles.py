"""How long hypothesis searches: `quick` in every run, the same examples each time; `HYPOTHESIS_PROFILE=thorough` for hours of doubt."""

import os

from hypothesis import HealthCheck, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

STEPS = 40
"""Of one walk of the model."""

settings.register_profile(
    "quick",
    max_examples=50,
    stateful_step_count=STEPS,
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],  # the machine may be busy with something else
)
settings.register_profile(
    "thorough",
    max_examples=3000,
    stateful_step_count=STEPS,
    deadline=None,
    print_blob=True,
    suppress_health_check=_SLOW,
)


def load() -> None:
    """The profile that the environment names."""
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
