"""The scalar values of sources.yaml: text in, checked values out, each with the JSON Schema that an editor needs."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    InstanceOf,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic_core import PydanticCustomError

from incremental_assets.core.config import addresses, shorthand
from incremental_assets.core.model import duration, objective
from incremental_assets.core.model.cursor import Span
from incremental_assets.core.model.identifiers import parse_table
from incremental_assets.core.model.layout import Target
from incremental_assets.core.model.quiet import PATTERN as QUIET_PATTERN
from incremental_assets.core.model.quiet import QuietTime
from incremental_assets.core.model.registration import NameTemplate
from incremental_assets.core.model.schedule import Schedule
from incremental_assets.core.model.table_match import TableMatch
from incremental_assets.core.observing.registry import checked_observer


class Strict(BaseModel):
    """A mapping with these keys and no others, each of them with a value."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _has_a_value(cls, value: object, info: ValidationInfo) -> object:
        if value is None:
            raise PydanticCustomError("empty", "write a value, or remove the key")
        field = cls.model_fields[info.field_name or ""]
        if value == {} and not field.is_required() and field.get_default(call_default_factory=True) != {}:
            key = field.alias or info.field_name
            raise PydanticCustomError(
                "empty", "{cure}", {"cure": f"write at least one key with its value, or remove `{key}`"}
            )
        return value


def _read_by(read: Callable[[str], object], like: str = "") -> BeforeValidator:
    hint = f', in quotes, like "{like}"' if like else ""

    def validate(value: object) -> object:
        if isinstance(value, list | dict):
            raise PydanticCustomError("one_value", "{cure}", {"cure": f"write a single value here{hint}"})
        return read(value) if isinstance(value, str) else value

    return BeforeValidator(validate)


def _schema(kind: str, **more: Any) -> WithJsonSchema:
    return WithJsonSchema({"type": kind, **more})


Text = Annotated[str, Field(min_length=1)]


def _day(text: str) -> date:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        raise ValueError("write a day like 2024-01-31")
    return date.fromisoformat(text)


_FIRST = date(1000, 1, 1)
"""The first day that a grid may begin with: the year of a key has four digits, and the first week of the calendar would begin before year 1."""


def _not_too_early(day: date) -> date:
    if day < _FIRST:
        raise ValueError(f"write {_FIRST} or a later day")
    return day


Day = Annotated[date, _read_by(_day), AfterValidator(_not_too_early), _schema("string", format="date")]


def _time_of_day(text: str) -> time | None:
    if text == "never":
        return None
    if not re.fullmatch(_TIME_OF_DAY, text, re.ASCII):
        raise ValueError('write a time of day like "03:00", in UTC, or never')
    return time.fromisoformat(text)


_TIME_OF_DAY = r"([01]\d|2[0-3]):[0-5]\d"
TimeOfDay = Annotated[
    time | None, _read_by(_time_of_day), _schema("string", pattern=f"^({_TIME_OF_DAY}|never)$", examples=["03:00"])
]

ScheduleText = Annotated[
    InstanceOf[Schedule],
    _read_by(Schedule.parse, "0 6 * * 1-5 Europe/Paris"),
    _schema("string", examples=["0 6 * * 1-5", "30 2 * * * Europe/Paris"]),
]
QuietText = Annotated[
    InstanceOf[QuietTime],
    _read_by(QuietTime.parse, "22:00-06:00 Europe/Paris"),
    _schema("string", pattern=f"^{QUIET_PATTERN}$", examples=["22:00-06:00"]),
]

MatchText = Annotated[
    InstanceOf[TableMatch],
    _read_by(TableMatch.parse, "tenant_*.orders"),
    _schema("string", examples=["tenant_*.orders"]),
]
TargetText = Annotated[
    InstanceOf[Target],
    _read_by(Target.parse, "raw/{table}"),
    _schema("string", examples=["{schema}/{table}", "gold/orders"]),
]

CatalogueName = Annotated[
    InstanceOf[NameTemplate],
    _read_by(NameTemplate.parse, "{schema}_{table}"),
    _schema("string", examples=["{schema}_{table}", "orders"]),
]
CatalogueDatabase = Annotated[
    InstanceOf[NameTemplate],
    _read_by(NameTemplate.parse_database, "main.lake"),
    _schema("string", examples=["lake", "main.{schema}"]),
]


def _region(name: str) -> str:
    if not re.fullmatch(_REGION, name):
        raise ValueError("write a region of AWS, like eu-central-1")
    return name


_REGION = r"[a-z]{2}(-[a-z]+)+-[0-9]+"
Region = Annotated[str, AfterValidator(_region), _schema("string", pattern=f"^{_REGION}$", examples=["eu-central-1"])]


def _positive(value: timedelta) -> timedelta:
    if not value:
        raise ValueError("write a duration longer than nothing")
    return value


_DURATION = f"^{duration.PATTERN}$"
Duration = Annotated[
    timedelta,
    _read_by(duration.parse_duration),
    _schema("string", pattern=_DURATION, examples=["90s", "15m", "2h", "3d"]),
]
PositiveDuration = Annotated[Duration, AfterValidator(_positive)]


def _kept(text: str) -> timedelta | None:
    return None if text.strip() == FOREVER else _positive(duration.parse_duration(text))


FOREVER = "forever"
Kept = Annotated[
    timedelta | None,
    _read_by(_kept),
    _schema("string", pattern=f"{_DURATION}|^{FOREVER}$", examples=["30d", FOREVER]),
]


def _size(text: str) -> int:
    found = re.fullmatch(_SIZE, text, re.ASCII)
    if not found:
        raise ValueError("write a size like 500MiB or 20GiB")
    return int(found[1]) << _SHIFTS[found[2]]


_SHIFTS = {"MiB": 20, "GiB": 30, "TiB": 40}
_SIZE = r"([1-9]\d{0,5})(MiB|GiB|TiB)"
Size = Annotated[int, _read_by(_size), _schema("string", pattern=f"^{_SIZE}$", examples=["500MiB", "20GiB"])]


def _plain_name(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9_]{1,63}", name, re.ASCII):
        raise ValueError("write a name of small letters, digits and _, of 63 at most")
    return name


SlotName = Annotated[Text, AfterValidator(_plain_name)]
SpanText = Annotated[
    Span,
    _read_by(duration.parse_span),
    WithJsonSchema(
        {
            "anyOf": [{"type": "string", "pattern": _DURATION}, {"type": "integer", "minimum": 0}],
            "examples": ["15m", 1000],
        }
    ),
]


def _fraction(text: str) -> float:
    if not re.fullmatch(r"0|1|[01]?\.\d{1,9}", text, re.ASCII) or float(text) > 1:
        raise ValueError("write a part of the whole, from 0 to 1, like 0.2")
    return float(text)


Fraction = Annotated[
    float, _read_by(_fraction), WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1, "examples": [0.2]})
]
Share = Annotated[
    Decimal, _read_by(objective.parse_share), _schema("string", pattern=objective.SHARE_PATTERN, examples=["99.9%"])
]
ShareWithin = Annotated[
    InstanceOf[objective.Within],
    _read_by(objective.Within.parse),
    _schema("string", pattern=objective.WITHIN_PATTERN, examples=["95% within 5m"]),
]
MarkText = Annotated[
    Text,
    WithJsonSchema(
        {"anyOf": [{"type": "string"}, {"type": "boolean"}, {"type": "integer"}], "examples": [True, "deleted"]}
    ),
]

StartText = Annotated[
    Text,
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}], "examples": ["2024-01-01", 1_000_001]}),
]


# --- where things are -----------------------------------------------------------------------------


class EnvReference(Strict):
    """A value that is read from an environment variable when it is needed."""

    env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", examples=["SHOP_PASSWORD"])]


class FileReference(Strict):
    """A value that is read from a file when it is needed; the path is relative to this file."""

    file: Text


ReferenceDocument = Annotated[
    Annotated[EnvReference, Tag("env reference")] | Annotated[FileReference, Tag("file reference")],
    Discriminator(
        lambda value: "file reference" if isinstance(value, FileReference) or "file" in value else "env reference"
    ),
]


class CommandReference(Strict):
    """A value that a program prints when it is needed, such as a token that is valid for some minutes; no shell takes part."""

    command: Annotated[
        tuple[Text, ...], Field(min_length=1, examples=[["aws", "rds", "generate-db-auth-token", "--hostname", "…"]])
    ]


def _secret_by(value: object) -> str:
    if isinstance(value, CommandReference) or (isinstance(value, dict) and "command" in value):
        return "command reference"
    return "file reference" if isinstance(value, FileReference) or "file" in value else "env reference"  # type: ignore[operator]


SecretDocument = Annotated[
    Annotated[EnvReference, Tag("env reference")]
    | Annotated[FileReference, Tag("file reference")]
    | Annotated[CommandReference, Tag("command reference")],
    Discriminator(_secret_by),
]


def _where(value: object) -> str:
    return "by reference" if isinstance(value, dict | EnvReference | FileReference) else "in place"


def _no_literal(value: object) -> object:
    if not isinstance(value, dict):
        raise PydanticCustomError(
            "literal_secret",
            "{cure}",
            {
                "cure": "a secret is never written in this file; write {env: NAME}, {file: path} or {command: [program, argument]}"
            },
        )
    return value


def _database_name(text: str) -> str:
    if not re.fullmatch("[A-Za-z0-9_]+", text):
        raise ValueError(
            "it becomes part of a source's name, of letters, digits and _; write a source of its own for this one"
        )
    return text


Located = Annotated[
    Annotated[Text, AfterValidator(addresses.checked_name), Tag("in place")]
    | Annotated[ReferenceDocument, Tag("by reference")],
    Discriminator(_where),
]
DatabaseName = Annotated[Text, AfterValidator(_database_name)]
HostInPlace = Annotated[Text, AfterValidator(addresses.checked_host)]
Host = Annotated[
    Annotated[Text, AfterValidator(addresses.checked_host), Tag("in place")]
    | Annotated[ReferenceDocument, Tag("by reference")],
    Discriminator(_where),
]
Port = Annotated[
    Annotated[int, Field(ge=1, le=65535), Tag("in place")] | Annotated[ReferenceDocument, Tag("by reference")],
    Discriminator(_where),
]
Secret = Annotated[SecretDocument, BeforeValidator(_no_literal)]
ObserverName = Annotated[Text, AfterValidator(checked_observer)]
Lake = Annotated[Text, AfterValidator(addresses.checked_lake)]
Endpoint = Annotated[
    Annotated[Text, AfterValidator(addresses.checked_endpoint), Tag("in place")]
    | Annotated[ReferenceDocument, Tag("by reference")],
    Discriminator(_where),
]
CheckpointsUrl = Annotated[Text, AfterValidator(addresses.checked_checkpoints)]
SparkRemote = Annotated[Text, AfterValidator(addresses.checked_remote)]
SparkMaster = Annotated[Text, AfterValidator(addresses.checked_master)]

SOURCE_NAME = r"^[A-Za-z][A-Za-z0-9_]*$"
"""A source names a folder of the lake, an asset group and a pool; all of them can hold this."""

SourceName = Annotated[str, Field(pattern=SOURCE_NAME)]


# --- tables ---------------------------------------------------------------------------------------

_NAME = r'("([^"]|"")+"|[^".:]+)'


def _checked_column(name: str) -> str:
    if name.lower().startswith("_sync_"):
        raise ValueError(
            "columns that begin with `_sync_` are this program's own in the lake; rename the column in the source"
        )
    return name


def _table_name(text: str) -> str:
    parse_table(text)
    return text


def _shorthand(text: str) -> shorthand.Shorthand:
    value = shorthand.parse(text)
    _checked_column(value.column)
    return value


Column = Annotated[Text, AfterValidator(_checked_column)]
TableName = Annotated[
    str,
    _read_by(_table_name),
    _schema("string", pattern=rf"^{_NAME}\.{_NAME}$", examples=["public.orders", 'public."a.b"']),
]
ShorthandText = Annotated[
    InstanceOf[shorthand.Shorthand],
    _read_by(_shorthand),
    _schema(
        "string",
        description=shorthand.FORM,
        pattern=rf"^{_NAME}\.{_NAME}:{_NAME}:(date|datetime|timestamp|integer)(:[ie])?(@[^!]+)?(!({'|'.join(shorthand.STRATEGIES)}))?$",
        examples=["public.orders:updated_at:timestamp!upsert"],
    ),
]


# --- what Dagster can hold ------------------------------------------------------------------------


def _owner(text: str) -> str:
    if not re.fullmatch(r"team:.+|[^@\s]+@[^@\s]+\.[^@\s]+", text):
        raise ValueError("an owner is an e-mail address or `team:name`")
    return text


Owner = Annotated[str, AfterValidator(_owner)]
TagKey = Annotated[str, Field(pattern=r"^([A-Za-z0-9_.-]{1,63}/)?[A-Za-z0-9_.-]{1,63}$")]
