"""The model search as long as the profile says."""

from tests import profiles

profiles.load()
