"""Why what lies at an address cannot be read, whoever was asked to fetch it, and what to do.

httpx tells failures apart by class, Polars by what it says.
"""

import re
from http import HTTPStatus

from dialens.base import DialensError, first_line

_OTHERWISE = "download the file and name it"
_CHECK = f"Check the address, or {_OTHERWISE}."
_STATUS = re.compile(r"status code: (\d{3})")
_NUMBERS = re.compile(r"^\[Errno -?\d+\] | \(os error \d+\)$|\.$")
_UNREACHED = re.compile(r"tcp connect error|dns error|operation timed out")
_CAUSED = re.compile(r"^ *\d+: ", re.MULTILINE)


def refused(address: str, status: int) -> DialensError:
    """What to say of a server that answered, but did not give the file.

    Examples:
        >>> print(refused("https://example.org/a.csv", 404))
        https://example.org/a.csv cannot be read: the server answered 404 Not Found. Check the \
address, or download the file and name it.
    """
    try:
        answer = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        answer = str(status)
    what, remedy = f"the server answered {answer}", _CHECK
    if status in (401, 403, 407):
        what = f"the server refused it ({answer})"
        remedy = "Download the file where you are logged in, and name it."
        if not address.startswith("http"):
            remedy = f"Put credentials that may read it in the environment, or {_OTHERWISE}."
    elif status == 429 or status >= 500:
        remedy = f"Try again later, or {_OTHERWISE}."
    return DialensError(f"{address} cannot be read: {what}. {remedy}")


def unreached(address: str, reason: str) -> DialensError:
    """What to say where no server answered.

    Examples:
        >>> print(unreached("https://example.org/a.csv", "[Errno 111] Connection refused"))
        https://example.org/a.csv cannot be read: nobody answers there (Connection refused). \
Check the address, or download the file and name it.
    """
    why = _NUMBERS.sub("", reason)
    return DialensError(
        f"{address} cannot be read: nobody answers there{f' ({why})' if why else ''}. {_CHECK}"
    )


def failed(address: str, reason: str) -> DialensError:
    """What to say of anything else that went wrong on the way."""
    return DialensError(f"{address} cannot be read: {_NUMBERS.sub('', reason)}. {_CHECK}")


def from_polars(address: str, error: BaseException) -> DialensError:
    """What to say of an error of Polars, which puts what happened in a text of several lines."""
    said = str(error)
    status = _STATUS.search(said)
    if status:
        return refused(address, int(status[1]))
    deepest = _CAUSED.split(said)[-1].strip().partition("\n")[0] if _CAUSED.search(said) else ""
    if deepest:
        return (unreached if _UNREACHED.search(said) else failed)(address, deepest)
    reason = first_line(error).partition(": Error performing")[0]
    return failed(address, reason.removeprefix("object-store error: "))
