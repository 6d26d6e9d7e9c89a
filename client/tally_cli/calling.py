"""What every verb shares: its options, its printer, and a client of the daemon.

``@verb`` gives a command the options ``--json``, ``--no-start``, ``--data-dir`` and ``--runtime-dir``, and
its function a `Call` as the first argument.
"""

import gc
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, cast, get_args

import click

from tally_cli.exits import Exit
from tally_cli.output import Printer, complain
from tally_cli.starting import answers, ensure_running, not_running
from tally_cli.trouble import Trouble
from tally_cli.waiting import Waiting
from tallystick import __version__, calls
from tallystick.calls import WriteOptions
from tallystick.core import OWNER, Reply, SecretPolicy
from tallystick.core import Call as Request
from tallystick.errors import Invalid, StaleRevision, UnknownOp
from tallystick.paths import Paths, resolve

if TYPE_CHECKING:
    from msgspec import Struct

    from tallystick.blocking import BlockingClient
    from tallystick.client import Client
    from tallystick.forgetting import Forgotten
    from tallystick.protocol.ijson import JsonValue

P = ParamSpec("P")
C = TypeVar("C", bound="BlockingClient")
Record = Mapping[str, "JsonValue"]
"""A record as parsed JSON: the types of records cost a call at the shell half of its time."""


class Call:
    """One call of ``tally``: where it speaks to, and how it answers."""

    def __init__(
        self, *, as_json: bool, may_start: bool, data_dir: str | None, runtime_dir: str | None
    ) -> None:
        self.printer = Printer(as_json=as_json)
        self.waiting = Waiting(None if as_json else complain)
        self.may_start = may_start
        self._data_dir = data_dir
        self._runtime_dir = runtime_dir

    @cached_property
    def paths(self) -> Paths:
        """All places. Raises ``PathError``."""
        return resolve(self._data_dir, self._runtime_dir)

    @property
    def actor(self) -> str:
        """As whom it speaks: the owner, unless TALLY_ACTOR says otherwise. It names the file of keys."""
        return os.environ.get("TALLY_ACTOR") or OWNER

    @cached_property
    def credential(self) -> str | None:
        """What is shown on each connection, where TALLY_CREDENTIAL_FILE names a file: its first line."""
        path = os.environ.get("TALLY_CREDENTIAL_FILE")
        if not path:
            return None
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip()

    @property
    def secrets(self) -> SecretPolicy:
        """What becomes of secrets in what is written: TALLY_SECRETS, else they are redacted. Raises `Trouble`
        (exit 2).
        """
        policy = os.environ.get("TALLY_SECRETS") or "redact"
        if policy not in get_args(SecretPolicy):
            words = f"TALLY_SECRETS is {policy}; it can be redact, refuse or keep."
            raise Trouble(Exit.USAGE, "bad-setting", words)
        return cast(SecretPolicy, policy)

    def start(self) -> bool:
        """See to it that a daemon runs; whether one had to be started. People are told of a start that takes
        long. Raises `Trouble`.
        """
        return ensure_running(self.paths, tell=None if self.printer.as_json else complain)

    @cached_property
    def client(self) -> "Client":
        """A client of a daemon that answers, with all its methods. Raises `Trouble`."""
        from tallystick.client import Client

        return self._opened(Client)

    @cached_property
    def caller(self) -> "BlockingClient":
        """The same without a method for each operation, which `client` takes a while to load."""
        from tallystick.blocking import BlockingClient

        return self._opened(BlockingClient)

    def _opened(self, kind: "type[C]") -> "C":
        """A client of that kind. The daemon is started where none runs and it may be. Raises `Trouble`."""
        if self.may_start:
            self.start()
        elif not answers(self.paths.client_socket):
            raise not_running(self.paths)
        client = kind(
            self.paths.runtime_dir,
            self.paths.data_dir,
            actor=self.actor,
            credential=self.credential,
            secrets=self.secrets,
            patience=self.waiting.goes_on,
        )
        click.get_current_context().call_on_close(client.close)
        return client

    def ask(self, request: "Request[object]") -> Record:
        """The result of a call, an object as parsed JSON."""
        return self.reply(request).value

    def change(self, request: "Request[object]", done: "Callable[[], Record | None]") -> Record:
        """What a command made of an object; where it was refused since it was done already, the object.

        `done` is asked after a refusal alone: the record as it is, where it is as the command would leave it,
        else None. It is told with the member ``already``.
        """
        try:
            return self.ask(request)
        except (Invalid, StaleRevision):
            record = done()
            if record is None:
                raise
            return {**record, "already": True}

    def tell_all(self, records: Iterable[Record], members: tuple[str, ...]) -> None:
        """Print a list: each record as JSON, or these members of each as a row."""
        if self.printer.as_json:
            for record in records:
                self.printer.object(record)
            return
        headings = [member.removesuffix("_id").replace("_", " ") for member in members]
        self.printer.table(headings, [[_cell(record, member) for member in members] for record in records])

    def made(self, record: Record, id_member: str, *more: str) -> None:
        """Print something new: all of it as JSON, its id alone into a pipe, more beside it on a terminal.

        Of what was done already, people are told that it was.
        """
        if self.printer.as_json:
            self.printer.object(record)
        elif self.printer.people:
            self.printer.row(text(record, id_member), *more)
        else:
            self.printer.row(text(record, id_member))
        if record.get("already") and not self.printer.as_json:
            complain(f"{text(record, id_member)} was so already; nothing was changed.")

    def reply(self, request: "Request[object]") -> "Reply[Record]":
        """The whole reply to a call, its value as parsed JSON. What became of erased words in this user's key
        stores is told on stderr. Raises `Trouble` where the daemon that runs is another version, and does not
        know the operation.
        """
        caller = self.caller
        try:
            with self.waiting.told(f"the daemon's answer to {request.operation}"):
                reply = cast("Reply[Record]", caller.raw(request))
        except UnknownOp as error:
            raise self._other_version(error) from error
        if reply.forgotten is not None:
            _tell_forgotten(reply.forgotten)
        if reply.redacted:
            from tallystick.protocol.secrets import words

            complain(
                f"Redacted before it was sent: {words(reply.redacted)}. `tally docs security` says more."
            )
        return reply

    def _other_version(self, error: UnknownOp) -> Trouble:
        """Which daemon runs, and how another one is started."""
        theirs = text(cast(Record, self.caller.raw(calls.service.hello()).value), "implementation_version")
        words = (
            f"The daemon that runs does not know {error.operation}: it is tallyd {theirs}, and this is tally"
            f" {__version__}. `tally down` and `tally up` start the one that belongs to this tally; under a"
            " service manager, restart its unit."
        )
        return Trouble(Exit.PROBLEM, error.kind, words, operation=error.operation, daemon_version=theirs)


def _tell_forgotten(forgotten: "Forgotten") -> None:
    if forgotten.cleared:
        complain(f"Cleared from this user's key stores: {forgotten.cleared} unanswered requests.")
    for what in forgotten.unreached:
        complain(f"Not reached: {what}")


def verb(function: Callable[Concatenate[Call, P], None]) -> Callable[..., None]:
    """A command's function with the options that all verbs have."""

    @click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")
    @click.option(
        "--no-start", is_flag=True, envvar="TALLY_NO_START", help="Never start a daemon. [TALLY_NO_START=1]"
    )
    @click.option("--data-dir", metavar="DIR", help="The daemon's data. [TALLY_DATA_DIR]")
    @click.option("--runtime-dir", metavar="DIR", help="The daemon's sockets. [TALLY_RUNTIME_DIR]")
    @wraps(function)
    def run(**options: object) -> None:
        gc.freeze()
        gc.enable()
        call = Call(
            as_json=bool(options.pop("as_json")),
            may_start=not options.pop("no_start"),
            data_dir=cast("str | None", options.pop("data_dir")),
            runtime_dir=cast("str | None", options.pop("runtime_dir")),
        )
        cast("Callable[..., None]", function)(call, **options)

    return run


def _usable_key(_context: click.Context, _option: click.Parameter, key: str | None) -> str | None:
    if key == "":
        raise click.BadParameter("it is empty; leave it out, and one is made")
    return key


key_option = click.option(
    "--key", metavar="KEY", callback=_usable_key,
    help="The idempotency key: the same key and words again are the same command.",
)  # fmt: skip
reason_option = click.option(
    "--reason", metavar="CLASS", default="unspecified", show_default=True,
    help="A word for why: lowercase letters, digits and underscores. It is a label, and is never erased.",
)  # fmt: skip


def keyed(key: str | None) -> WriteOptions:
    """The options of a write under the caller's key, where there is one."""
    return {} if key is None else {"key": key}


def builtin(record: "Struct") -> Record:
    """A typed record as parsed JSON."""
    from msgspec import to_builtins

    return cast(Record, to_builtins(record))


def _cell(record: Record, name: str) -> str:
    value = record.get(name)
    return " ".join(map(str, value)) if isinstance(value, list) else text(record, name)


def text(record: Record, name: str) -> str:
    """A member of a record as text; an absent one is empty."""
    value = record.get(name)
    return "" if value is None else str(value)
