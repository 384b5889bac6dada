"""The one kind of error a user is meant to read."""


class DialensError(Exception):
    """Something the user can mend: what was seen, where, and the remedy, in one message.

    The command line prints it without a traceback and exits with status 2.
    """
