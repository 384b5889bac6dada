"""How many connections a server takes, kept below what its operating system allows."""

import sys

MOST_CONNECTIONS = 2_000
"""Of one server process; whoever comes beyond that reads that it is busy."""

ON_THE_WAY = 50
"""Connections beyond those that are told so; yet more are hung up on."""

AT_ONCE = 100
"""Connections that are accepted in one go, before the first of them can be hung up on."""

_OTHERS = ON_THE_WAY + 2 * AT_ONCE + 50
"""Open files that are not participants': those above, the next lot, the database and its log."""

_FEWEST = 50


def allowed_connections(most: int = MOST_CONNECTIONS) -> int:
    """Raise this process's limit on open files as far as it goes, and say how many fit below it.

    Without room below the limit, a server that is flooded with connections can accept none, not
    even to refuse it, and fills its log with that.

    Examples:
        >>> 50 <= allowed_connections() <= MOST_CONNECTIONS
        True
    """
    if sys.platform == "win32":
        return most
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most + _OTHERS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return most
    return max(min(most, soft - _OTHERS), _FEWEST)
