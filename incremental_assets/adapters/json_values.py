"""Values of a record as those of a column: exactly, or a reason why not. Moments are microseconds since 1970 and days are days since then, as Arrow has them."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Context, Decimal, DecimalException
from functools import cache, lru_cache, partial
from typing import Any

from incremental_assets.core.model.coding import BASE64, DAYS, HEX, JSON, SCALED, UNITS, Coding

Decoder = Callable[[Any], Any]
"""Of a value that is not null. Raises Unfit."""


class Unfit(ValueError):
    """A value that the column cannot hold, or that does not say what it is; the text is the reason."""


class NoJson(ValueError):
    """Octets that are no document; the text says what they are, behind the name of what they are of."""


def document(octets: bytes) -> Any:
    """What they say, its numbers with all of their digits. Raises NoJson."""
    return _document(octets, _JSON)


def document_of_anybody(octets: bytes) -> Any:
    """The same of those who may write a name twice into an object, which not everybody reads in the same way. Raises NoJson."""
    return _document(octets, _STRICT)


def _document(octets: bytes, decoder: json.JSONDecoder) -> Any:
    try:
        text = octets.decode()
        try:
            found, end = decoder.raw_decode(text)
        except json.JSONDecodeError:
            end = -1
        # Blanks around it, and what is wrong with it, are the decoder's own matter.
        return found if end == len(text) else decoder.decode(text)
    except NoJson:
        raise
    except DecimalException:
        raise NoJson("has a number that nothing holds") from None
    except (ValueError, RecursionError):
        raise NoJson("is no JSON") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NoJson("has an object with a name twice, which does not say what it is")
    return found


def _no_constant(name: str) -> Any:
    raise NoJson(f"is no JSON, which has no {name}")


_JSON = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_constant)
_STRICT = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_object)
_EPOCH = date(1970, 1, 1)
_FIRST_DAY, _LAST_DAY = (date.min - _EPOCH).days, (date.max - _EPOCH).days
_DAY = 86_400_000_000
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?", re.ASCII)
_HALF = re.compile(r"[\ud800-\udfff]")
_SPELLED = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf(inity)?)", re.ASCII | re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
# The largest double that a float rounds to a number: sources write the largest float with fewer digits than it has, as 3.4028235E38.
_LARGEST = {"float": math.nextafter((2 - 2**-24) * 2.0**127, 0), "double": sys.float_info.max}
_WIDE = Context(prec=120)
_MOST_SCALE = 20_000
"""More than any source has: PostgreSQL's numbers have 16,383 digits behind the point."""
_BEYOND = "a moment that no calendar has, such as infinity"


@cache
def decoder(coding: Coding) -> Decoder:
    """How values of this coding are read."""
    name = coding.type.partition("(")[0]
    if name in _INTEGERS:
        return partial(_integer, _INTEGERS[name])
    if name in _LARGEST:
        return partial(_floating, name)
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


def _floating(kind: str, value: Any) -> float:
    if isinstance(value, str) and value in _NUMBERS:
        return _NUMBERS[value]
    if isinstance(value, float) and (kind == "double" or not math.isfinite(value)):
        # As Avro has it; JSON's numbers are decimals here.
        return value
    if not isinstance(value, int | float | Decimal) or isinstance(value, bool):
        raise _misfit(value, "a number")
    # To compare a decimal with a double takes longer than to round it, which never makes a smaller one of what is too large.
    if isinstance(value, Decimal) and abs(found := float(value)) < _LARGEST[kind]:
        return found
    if not -_LARGEST[kind] <= value <= _LARGEST[kind]:
        raise Unfit(f"a number that a {kind} does not hold")
    return float(value)


def _decimal(digits: int, scale: int, value: Any) -> Decimal:
    if not isinstance(value, int | Decimal | str) or isinstance(value, bool):
        raise _misfit(value, "a number, or its text")
    try:
        # Python's own spellings of a number are not those of a source.
        number = Decimal(value if not isinstance(value, str) or _SPELLED.fullmatch(value) else "")
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
        fitted = number.quantize(_unit(scale), context=_WIDE)
    except DecimalException:
        return _too_wide()
    return fitted if fitted == number and fitted.adjusted() < digits - scale else _too_wide()


@cache
def _unit(scale: int) -> Decimal:
    return Decimal(1).scaleb(-scale)


def _too_wide() -> Decimal:
    raise Unfit("a number with more digits than the column has")


def _any_scale(value: Any) -> str:
    """Debezium's `VariableScaleDecimal`, as the digits that the source shows."""
    if not isinstance(value, dict) or set(value) != {"scale", "value"} or type(value["scale"]) is not int:
        raise _misfit(value, "scale and value")
    if abs(value["scale"]) > _MOST_SCALE:
        raise Unfit("a number with more digits than any source has")
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
    """A value as JSON writes it, digit by digit. Raises Unfit where no text has its characters."""
    try:
        found = _written(value)
    except RecursionError:
        raise Unfit("a value that lies too deep in others") from None
    if not found.isascii() and _HALF.search(found):
        raise Unfit("a text with half a character")
    return found


def shown_json(value: Any) -> str:
    """The same for somebody who looks at it, whatever it is: half of a character by its number, and nothing of what lies too deep."""
    try:
        found = _written(value)
    except RecursionError:
        return "null"
    return _HALF.sub(lambda half: f"\\\\u{ord(half[0]):04x}", found)


def _written(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_number)
    except _Inexact:
        return _by_parts(value)


class _Inexact(ValueError):
    """A number that has more digits than a double."""


def _number(value: Any) -> float:
    found = float(value)
    if Decimal(repr(found)) != value:
        raise _Inexact
    return found


def _by_parts(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{','.join(f'{json.dumps(name, ensure_ascii=False)}:{_by_parts(each)}' for name, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_by_parts, value))}]"
    try:
        return json.dumps(value, ensure_ascii=False, default=_number)
    except _Inexact:
        return str(value)


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
    return _second(f"{day}T{clock}{zone or 'Z'}") * 1_000_000 + int(fraction[:6])


@lru_cache(maxsize=4096)
def _second(text: str) -> int:
    """Since 1970. Many rows are written in one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Unfit(_BEYOND) from None
    # By its own clock: in UTC it may be in a year that Python does not have.
    since = moment - datetime(1970, 1, 1, tzinfo=moment.tzinfo) - (moment.utcoffset() or timedelta())
    if not _FIRST_DAY <= since.days <= _LAST_DAY:
        raise Unfit(_BEYOND)
    return since.days * 86_400 + since.seconds


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
