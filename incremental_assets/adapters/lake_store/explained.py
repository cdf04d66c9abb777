"""What a store of objects says, as errors of ours."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

from incremental_assets.core.errors import LakeRefused, StoreUnreachable

_DENIED = (PermissionDeniedError, UnauthenticatedError)
_STATUS = ("403 Forbidden", "401 Unauthorized")
"""What of a listing and of a removal stands in the words alone."""
_UNNAMED = "400 Bad Request"
"""All that is said of a token that has expired where an answer has no body, as to HEAD. No second request of the kind has another answer."""
_CODE = re.compile(r"<Code>\s*([^<]{1,100}?)\s*</Code>")
_OF_FILE = re.compile(r"\(code: (\w+)\)")
"""Where several were to be removed, the answer is good, and says of each what became of it."""
_ACCESS = "AccessDenied"
_REDIRECT = "redirect without LOCATION"
"""What the client says, which follows none, of the answer of another region than the bucket's."""
_MESSAGE = re.compile(r"<Message>\s*([^<]{1,500}?)\s*</Message>")
_BODY = re.compile(r":?\s*<.*")
_PATHS = re.compile(r"^.* for path .*?: (?=Error performing )")
"""Of a removal, every file that was to go."""
_EXPIRED = "its credentials have expired: renew them where they come from: `stores`, the environment or the machine"
_ELSEWHERE = "the bucket is in another region: write it as `region` of the bucket in `stores`"
_MISTAKEN = "check the key and its secret in `stores`, or where they come from"
_CURES = {
    **dict.fromkeys(("ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken"), _EXPIRED),
    **dict.fromkeys(("AuthorizationHeaderMalformed", "PermanentRedirect", _REDIRECT), _ELSEWHERE),
    **dict.fromkeys(("InvalidAccessKeyId", "SignatureDoesNotMatch"), _MISTAKEN),
    **dict.fromkeys(
        ("RequestTimeTooSkewed", "RequestExpired"),
        "this machine's clock and the store's differ by more than it takes; set them",
    ),
    "": "its credentials may have expired: renew them; else check the endpoint and the region in `stores`",
}
"""By what a store calls it that it will not; for all else, its credentials have too few rights."""
_CERTIFICATE = re.compile(r"InvalidCertificate\(\s*(?:Other\(\s*OtherError\(\s*)?(\w+)")
"""How the client names what is wrong with the certificate of a server."""
_IN_THE_WAY = {
    "ConnectionRefused": "nobody listens there",
    "dns error": "its name is not known",
    "TimedOut": "no answer in time",
}
"""By what the client's own words hold, of which the first line says no more than that a request failed."""
_BUSY = ("503 Service Unavailable", "429 Too Many Requests", "SlowDown")
THROTTLED = "the next sync goes on; ask it for less, by fewer tables at once (`parallel: {tables: 1}`) or a longer `every`, or have its limit raised"
"""What to do where it does not stop."""
_RIGHTS = "check its credentials and the rights that they have"


@contextmanager
def explained(key: str, right: str = "") -> Iterator[None]:
    """Raises FileNotFoundError as a disk does, LakeRefused where the store denies it or has no such bucket, StoreUnreachable for all else. `right`: what the store calls the right that it takes."""
    try:
        yield
    except FileNotFoundError as error:
        if lacks_bucket(error):
            raise no_bucket(key) from None
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), key) from None
    except (BaseError, OSError) as error:
        if lacks_bucket(error):
            raise no_bucket(key) from None
        if is_denied(error):
            raise refused(key, error, right) from None
        raise StoreUnreachable(f"{key}: {silence(error)}") from None


def silence(error: BaseException) -> str:
    """That a store answered nothing of use, and what to do."""
    if is_throttled(error):
        return f"the store throttles ({told(error)}); nothing was lost: {THROTTLED}"
    return f"the store did not answer ({told(error)}); nothing was lost, try again when it does"


def is_throttled(error: BaseException | str) -> bool:
    """Whether the store is there, and will not for now."""
    return any(each in str(error) for each in _BUSY)


def is_denied(error: BaseException) -> bool:
    """Whether the store has understood, and will not."""
    line, code = first_line(error), _code(error)
    return (
        isinstance(error, _DENIED)
        or bool(_certificate(error))
        or any(each in line for each in _STATUS)
        or (code in _CURES or code == _ACCESS if code else line.rstrip(": ").endswith(_UNNAMED))
    )


def cure(error: BaseException, right: str = "") -> str:
    """What to do where it is denied."""
    if _certificate(error):
        return _authority()
    code = _code(error)
    rights = f"{_RIGHTS}: this takes `{right}`" if right else _RIGHTS
    return _CURES.get(code, rights) if code or _UNNAMED in first_line(error) else rights


def lacks_bucket(error: BaseException) -> bool:
    """Whether a store says that the bucket itself is not there; S3 says it of no request in another way."""
    return "NoSuchBucket" in str(error)


def no_bucket(key: str) -> LakeRefused:
    """The error where it is not."""
    scheme, _, rest = key.partition("://")
    return LakeRefused(
        f"{scheme}://{rest.partition('/')[0]}: there is no such bucket; make it, or write its name in `lake` as it is"
    )


def refused(key: str, error: BaseException, right: str = "") -> LakeRefused:
    """The error where a store denies something."""
    what = "the store is not asked" if _certificate(error) else "the store denies it"
    return LakeRefused(f"{key}: {what} ({told(error)}); {cure(error, right)}")


def told(error: BaseException) -> str:
    """What the client and the store say, on one line: of the store's answer no more than its name for it and its message, as others of its lines repeat tokens and what was signed."""
    text = str(error)
    line = _BODY.sub("", _PATHS.sub("", first_line(error))).rstrip(": ")
    said = ": ".join(found[1] for found in (_CODE.search(text), _MESSAGE.search(text)) if found)
    if certificate := _certificate(error):
        return f"{line}: its certificate is not accepted: {certificate}"
    ways = (
        "".join(f": {way}" for words, way in _IN_THE_WAY.items() if words in text)
        if isinstance(error, BaseError)
        else ""
    )
    return f"{line}, {' '.join(said.split())}" if said else f"{line}{ways}"


def first_line(error: BaseException) -> str:
    """The first line of what it says."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _certificate(error: BaseException) -> str:
    found = _CERTIFICATE.search(str(error))
    return found[1] if found else ""


def _authority() -> str:
    named = os.environ.get("SSL_CERT_FILE", "")
    gone = f", which names {named}, which is not there" if named and not os.path.isfile(named) else ""  # noqa: PTH113 - a name of the environment
    return f"have this machine know its authority, or name a file of authorities by `SSL_CERT_FILE`{gone}"


def _code(error: BaseException) -> str:
    if _REDIRECT in first_line(error):
        return _REDIRECT
    found = _CODE.search(str(error)) or _OF_FILE.search(first_line(error))
    return found[1] if found else ""
