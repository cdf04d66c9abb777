"""The letters by which messages of the log begin."""

from __future__ import annotations

BEGIN, COMMIT, RELATION, TYPE, ORIGIN, INSERT, UPDATE, DELETE, TRUNCATE, MESSAGE = (
    ord(letter) for letter in "BCRYOIUDTM"
)
