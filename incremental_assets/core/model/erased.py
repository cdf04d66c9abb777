"""Keys that were erased, known by what a secret key makes of them: whoever reads the list learns no key, and can try none. Pure."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from incremental_assets.core.errors import LakeRefused
from incremental_assets.core.model.as_copied import source_name
from incremental_assets.core.model.column import WHOLE, Column
from incremental_assets.core.model.key_text import key_text
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId

VERSION = 1
_WHICH = "incremental-assets: which key of erasures this is"


@dataclass(frozen=True, slots=True)
class ErasureKey:
    """The secret key. `id` tells keys apart; nothing tells the key by it."""

    secret: str = field(repr=False)

    @property
    def id(self) -> str:
        """Twelve digits by which another key is noticed."""
        return self._hashed(_WHICH)[:12]

    def digest(self, key: Sequence[str]) -> str:
        """Of a key of a table, the texts of whose columns are as `typed_text` has them."""
        return self._hashed(json.dumps(list(key), ensure_ascii=False))

    def _hashed(self, text: str) -> str:
        return hmac.new(self.secret.encode(), text.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class ErasedKeys:
    """Those of one table, which no path may bring back."""

    key: ErasureKey
    digests: frozenset[str] = field(repr=False)
    columns: tuple[str, ...] = ()
    """Of the key, as the source calls them, in the order in which a digest has their values; none in a list of an earlier release."""

    def holds(self, key: Sequence[str]) -> bool:
        """Whether a key was erased."""
        return self.key.digest(key) in self.digests

    def with_keys(self, keys: Iterable[Sequence[str]]) -> ErasedKeys:
        """The same with more of them."""
        return replace(self, digests=self.digests | {self.key.digest(each) for each in keys})

    def places(self, spec: TableSpec) -> tuple[int, ...]:
        """Which value of a key of the table is the first of a digest, and so on. Raises LakeRefused where the table is known by another key now: it would tell nobody from whom."""
        names = [source_name(spec, name) for name in spec.named_key]
        if self.columns and set(self.columns) != set(names):
            raise LakeRefused(
                f"{spec.id}: its keys were erased by {', '.join(self.columns)}, and its key is {', '.join(names)} now, by which nobody could tell the rows that are to stay out; "
                "put the key back, or where its columns only have other names, write these into `columns` of the list below `_erased`"
            )
        return tuple(names.index(name) for name in self.columns or names)

    def may_hold(self, spec: TableSpec, row: Mapping[str, str | None]) -> bool:
        """Whether a row, as either side prints it, may be of a key that was erased: also where nobody can read its key. Raises LakeRefused."""
        key = [spec.key_columns[place] for place in self.places(spec)]
        try:
            return self.holds([_printed(column, row[column.name]) for column in key])
        except (ValueError, KeyError):
            return True

    def to_json(self) -> str:
        """As it is kept in the lake."""
        return json.dumps(
            {"version": VERSION, "key": self.key.id, "columns": list(self.columns), "digests": sorted(self.digests)}
        )


def erased_from(text: str, place: str, key: ErasureKey | None) -> ErasedKeys:
    """What is kept at a place. Raises LakeRefused where it cannot be read, or not by this key: a sync that went on would bring rows back."""
    try:
        found = json.loads(text)
        version, by, digests = found["version"], found["key"], frozenset(found["digests"])
        columns = tuple(found.get("columns", ()))
    except (ValueError, KeyError, TypeError):
        raise LakeRefused(
            f"{place} is no list of erased keys that this release can read; restore it, as a sync without it would bring erased rows back"
        ) from None
    if version != VERSION:
        raise LakeRefused(
            f"{place} was written by a later release; upgrade, as a sync without it would bring erased rows back"
        )
    if key is None:
        raise LakeRefused(
            f"{place} keeps out erased rows by a secret key that the configuration no longer names; write `erasure_key: {{env: …}}` again"
        )
    if by != key.id:
        raise LakeRefused(
            f"{place} was written with another key than `erasure_key` leads to now, so that erased rows would come back; name the key of then"
        )
    return ErasedKeys(key, digests, columns)


def typed_text(kind: str, text: str) -> str:
    """The one text of a value of a Spark type, however somebody has written it."""
    if kind.startswith("decimal"):
        return (text.rstrip("0").rstrip(".") or "0") if "." in text else text
    if kind.startswith("timestamp"):
        moment = text.removesuffix("Z").removesuffix("+00:00").replace("T", " ")
        return moment.rstrip("0").rstrip(".") if "." in moment else moment
    if kind in WHOLE:
        return str(int(text)) if text.removeprefix("-").isdigit() else text
    if kind == "binary":
        return text.upper()
    return text


def _printed(column: Column, text: str | None) -> str:
    if text is None:
        return ""
    if column.spark_type == "binary":
        text = text.removeprefix("x'").removesuffix("'")
    return typed_text(column.spark_type, key_text(column, text))


class NothingErased:
    """Of a lake from which nothing was."""

    def has(self, table: TableId) -> bool:  # noqa: ARG002 - the signature of `core.ports.Erasures`
        """None."""
        return False

    def among(self, spec: TableSpec, texts: AbstractSet[str]) -> frozenset[str]:  # noqa: ARG002
        """None."""
        return frozenset()
