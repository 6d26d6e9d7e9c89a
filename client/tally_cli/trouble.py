"""The one exception by which a verb ends early, with its exit code and words for a person."""

from tally_cli.exits import Exit


class Trouble(Exception):
    """Ends ``tally`` with `exit_code` and `message`.

    `message` says what was wrong, where, and what to do next. `kind` is a word for programs, as ``--json``
    shows it, and `extra` holds further members of that JSON object.
    """

    def __init__(self, exit_code: Exit, kind: str, message: str, **extra: object) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.kind = kind
        self.message = message
        self.extra = extra
