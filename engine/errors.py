"""Errors a user can meet. Each carries the exit code the command line ends with."""

from __future__ import annotations


class TracelakeError(Exception):
    """What was expected, what was found and what to do, in one message."""

    exit_code = 1


class UsageError(TracelakeError):
    """The question is wrong: an unknown trace, relation, setting or value."""

    exit_code = 2


class InputError(TracelakeError):
    """The input is unusable: not a trace, unreadable, or of an unsupported lake version."""

    exit_code = 3
