"""Values of a record as those of a column: exactly, or a reason why not. Moments are microseconds since 1970 and days are days since then, as Arrow has them."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Context, Decimal, DecimalException
from functools import cache, partial
from typing import Any

from incremental_assets.core.model.coding import BASE64, DAYS, HEX, JSON, SCALED, UNITS, Coding

Decoder = Callable[[Any], Any]
"""Of a value that is not null. Raises Unfit."""


class Unfit(ValueError):
    """A value that the column cannot hold, or that does not say what it is; the text is the reason."""


_EPOCH = date(1970, 1, 1)
_FIRST_DAY, _LAST_DAY = (date.min - _EPOCH).days, (date.max - _EPOCH).days
_DAY = 86_400_000_000
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?", re.ASCII)
_HALF = re.compile(r"[\ud800-\udfff]")
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_WIDE = Context(prec=120)
_BEYOND = "a moment that no calendar has, such as infinity"


@cache
def decoder(coding: Coding) -> Decoder:
    """How values of this coding are read."""
    name = coding.type.partition("(")[0]
    if name in _INTEGERS:
        return partial(_integer, _INTEGERS[name])
    if name == "decimal":
        digits, scale = (int(each) for each in coding.type[len("decimal(") : -1].split(","))
        return partial(_scaled if coding.form == BASE64 else _decimal, digits, scale)
    if name == "timestamp" or name == "timestamp_ntz":
        zoned = name == "timestamp"
        return partial(_counted, UNITS[coding.form]) if coding.form else partial(_moment, zoned=zoned)
    if name == "string" and coding.form in UNITS:
        return partial(_time_of_day, UNITS[coding.form])
    return _BY_CODING[coding]


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _misfit(value, "true or false")
    return value


def _integer(bits: int, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _misfit(value, "a whole number")
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise Unfit(f"a number that {bits} bits do not hold")
    return value


def _floating(value: Any) -> float:
    if isinstance(value, str) and value in _NUMBERS:
        return _NUMBERS[value]
    if isinstance(value, float):
        # As Avro has it; JSON's numbers are decimals here.
        return value
    if not isinstance(value, int | Decimal) or isinstance(value, bool):
        raise _misfit(value, "a number")
    found = float(value)
    if math.isinf(found):
        raise Unfit("a number that a double does not hold")
    return found


def _decimal(digits: int, scale: int, value: Any) -> Decimal:
    if not isinstance(value, int | Decimal | str) or isinstance(value, bool):
        raise _misfit(value, "a number, or its text")
    try:
        number = Decimal(value)
    except DecimalException:
        raise Unfit("a text that is no number") from None
    return _fitting(number, digits, scale)


def _scaled(digits: int, scale: int, value: Any) -> Decimal:
    unscaled = int.from_bytes(_bytes(value), "big", signed=True)
    return Decimal(unscaled).scaleb(-scale, context=_WIDE) if abs(unscaled) < 10**digits else _too_wide()


def _fitting(number: Decimal, digits: int, scale: int) -> Decimal:
    if not number.is_finite():
        raise Unfit("a number that is not finite")
    try:
        fitted = number.quantize(Decimal(1).scaleb(-scale), context=_WIDE)
    except DecimalException:
        return _too_wide()
    return fitted if fitted == number and len(fitted.as_tuple().digits) <= digits else _too_wide()


def _too_wide() -> Decimal:
    raise Unfit("a number with more digits than the column has")


def _any_scale(value: Any) -> str:
    """Debezium's `VariableScaleDecimal`, as the digits that the source shows."""
    if not isinstance(value, dict) or set(value) != {"scale", "value"} or not isinstance(value["scale"], int):
        raise _misfit(value, "scale and value")
    unscaled = int.from_bytes(_bytes(value["value"]), "big", signed=True)
    digits, scale = str(abs(unscaled)), value["scale"]
    if scale > 0:
        digits = digits.rjust(scale + 1, "0")
        digits = f"{digits[:-scale]}.{digits[-scale:]}"
    else:
        digits += "0" * -scale
    return f"-{digits}" if unscaled < 0 else digits


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _misfit(value, "a text")
    if not value.isascii() and _HALF.search(value):
        raise Unfit("a text with half a character")
    return value


def json_text(value: Any) -> str:
    """A value as JSON writes it, whatever it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_number)


def _number(value: Any) -> float:
    found = float(value)
    if Decimal(repr(found)) != value:
        raise Unfit("a number that a double does not hold")
    return found


def _bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(_text(value), validate=True)
    except (binascii.Error, ValueError):
        raise Unfit("a text that is no base64") from None


def _hex(value: Any) -> bytes:
    try:
        return binascii.unhexlify(_text(value))
    except (binascii.Error, ValueError):
        raise Unfit("a text that is no hexadecimal number") from None


def _days(value: Any) -> int:
    days = _integer(64, value)
    if not _FIRST_DAY <= days <= _LAST_DAY:
        raise Unfit(_BEYOND)
    return days


def _date(value: Any) -> int:
    text = _text(value).removesuffix("Z")
    try:
        if _DATE.fullmatch(text):
            return (date.fromisoformat(text) - _EPOCH).days
    except ValueError:
        pass
    raise Unfit(_BEYOND)


def _counted(per_second: int, value: Any) -> int:
    """Milliseconds, microseconds or nanoseconds since 1970."""
    counted = _integer(64, value)
    micros, rest = divmod(counted * 1_000_000, per_second)
    if rest:
        raise Unfit("a moment with nanoseconds, which the column does not hold")
    if not _FIRST_DAY <= micros // _DAY <= _LAST_DAY:
        raise Unfit(_BEYOND)
    return micros


def _moment(value: Any, *, zoned: bool) -> int:
    """A text of ISO 8601. One without a zone is no moment, and Debezium writes Z behind stamps that have none."""
    found = _MOMENT.fullmatch(_text(value))
    if found is None:
        raise Unfit(_BEYOND)
    day, clock, fraction, zone = found.groups()
    if zoned and zone is None:
        raise Unfit("a moment without its zone")
    if not zoned and zone not in (None, "Z"):
        raise Unfit("a stamp without a zone that has one")
    fraction = (fraction or "").ljust(9, "0")
    if fraction[6:] != "000":
        raise Unfit("a moment with nanoseconds, which the column does not hold")
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{zone or 'Z'}")
    except ValueError:
        raise Unfit(_BEYOND) from None
    since = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + int(fraction[:6])


def _time_of_day(per_second: int, value: Any) -> str:
    """A time of day as a text, which may be below zero, or more than a day where the source has such."""
    counted = _integer(64, value)
    seconds, rest = divmod(abs(counted), per_second)
    width = len(str(per_second)) - 1
    fraction = f".{rest:0{width}d}".rstrip("0") if rest else ""
    sign = "-" if counted < 0 else ""
    return f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"


def _misfit(value: Any, instead: str) -> Unfit:
    kinds = {bool: "true or false", str: "a text", int: "a whole number", Decimal: "a number", list: "a list"}
    return Unfit(f"{kinds.get(type(value), 'an object')} where the column has {instead}")


_BY_CODING: dict[Coding, Decoder] = {
    Coding("boolean"): _boolean,
    Coding("float"): _floating,
    Coding("double"): _floating,
    Coding("string"): _text,
    Coding("string", JSON): json_text,
    Coding("string", SCALED): _any_scale,
    Coding("binary", BASE64): _bytes,
    Coding("binary", HEX): _hex,
    Coding("date"): _date,
    Coding("date", DAYS): _days,
}


def widened(written: Coding, target: Coding) -> Decoder | None:
    """How values that are written by one coding are read for a column of another; None where that could alter them."""
    if written.type == target.type:
        return decoder(written)
    name, into = written.type.partition("(")[0], target.type.partition("(")[0]
    if name in _INTEGERS and into in _INTEGERS and _INTEGERS[name] < _INTEGERS[into]:
        return decoder(target)
    if (name, into) == ("float", "double"):
        return decoder(target)
    if name == into == "decimal":
        digits, scale = (int(each) for each in target.type[len("decimal(") : -1].split(","))
        return partial(_through, decoder(written), digits, scale)
    return None


def _through(read: Decoder, digits: int, scale: int, value: Any) -> Decimal:
    return _fitting(read(value), digits, scale)
