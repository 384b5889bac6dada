"""On what kind of device somebody is, by what their browser says, before any script has run."""

import re
from collections.abc import Mapping

from dialens.studies import DEVICES

_TABLET = re.compile(r"iPad|Tablet|PlayBook|Silk|Android(?!.*Mobi)")
_PHONE = re.compile(r"Mobi|iPhone|iPod")


def device_of(headers: Mapping[str, str], measured: str = "") -> str:
    """The class of a device.

    Args:
        headers: Of the request.
        measured: What the page's script found; tablets may call themselves desktops.

    Examples:
        >>> device_of({"user-agent": "Mozilla/5.0 (Linux; Android 15) … Mobile Safari/537.36"})
        'phone'
        >>> device_of({"user-agent": "Mozilla/5.0 (Linux; Android 15; SM-X210) … Safari/537.36"})
        'tablet'
        >>> device_of({"user-agent": "Mozilla/5.0 (Macintosh; …) Safari/605.1.15"}, "tablet")
        'tablet'
    """
    if measured in DEVICES:
        return measured
    said = headers.get("user-agent", "")
    if _TABLET.search(said):
        return "tablet"
    return "phone" if _PHONE.search(said) or headers.get("sec-ch-ua-mobile") == "?1" else "desktop"
