"""Assistants: an agent loop whose steps are each done once, whatever dies in between.

::

    class Reviewer(Assistant):
        def run(self, ctx: InvocationContext) -> None:
            words = think(ctx.question, ctx.items)
            ctx.contribute("synthesis", words, addresses=ctx.question)

    run_one(Reviewer(), invocation_id)

What was done stays done. When the reply is lost, the same request is sent again; when the daemon restarts,
the assistant does not notice; when the assistant's own process dies, the next attempt of the same invocation
runs the same code, and each step that was done gives its first result.

A step may have an ``operation_key``, which names it within its invocation: "answer", "critique-2". One key
means one thing: other words under a used key are refused (``IdempotencyMismatch``), by this attempt or a
later one. So a step that may say it differently the next time (a model's answer) has a key and asks first::

    answer = ctx.done("answer") or ctx.contribute("synthesis", think(), operation_key="answer")

A contribution without a key is known by what it says: the same again is the same step, and anything else is
another contribution.

What an assistant may read is what its invocation's assembly names: the claim has the whole contributions;
``ctx.item`` says what became of one since, and ``ctx.download`` reads a file that one carries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, TypedDict, TypeVar, Unpack, cast

from tallystick import calls
from tallystick.core import Write, encode, new_key, request_id
from tallystick.errors import IdempotencyMismatch, LeaseLost, NotSendable, StaleLease, TransportError
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.client import Client, WorkerClient
    from tallystick.protocol.families.context import Assembly
    from tallystick.protocol.families.contributions import Contribution, Relation
    from tallystick.protocol.families.decisions import Decision
    from tallystick.protocol.families.invocations import Invocation
    from tallystick.protocol.families.work import InvocationClaim, InvocationItem, InvocationProgress
    from tallystick.protocol.ijson import JsonValue

    Done = Contribution | Relation | Assembly | Decision

T = TypeVar("T")

ASK_HOURS: Final = 24
"""How long after its question an invocation may run, where the caller does not say."""
_WHO_SPEAKS: Final = ("attempt_id", "fence_epoch")
_append = calls.attempts.as_worker(calls.contributions.append)
_relate = calls.attempts.as_worker(calls.contributions.relation_assert)
_decide = calls.attempts.as_worker(calls.decisions.decision_record)
_assemble = calls.attempts.as_worker(calls.context.context_assembly_create)


class Extra(TypedDict, total=False):
    """The further arguments of a contribution; ``calls.contributions.append`` says what they are."""

    media_type: str
    language: str
    schema_ref: str
    subject_refs: Sequence[calls.Named]
    source_refs: Sequence[calls.Named]
    epistemic_posture: str
    classification_ref: str
    retention_policy_ref: str


class DecisionExtra(TypedDict, total=False):
    """The further arguments of a decision; ``calls.decisions.decision_record`` says what they are."""

    repository: str
    paths: Sequence[str]
    proposed: bool
    origin: str
    supersedes: Sequence[calls.decisions.AnyDecision]
    narrows: Sequence[calls.decisions.AnyDecision]
    depends_on: Sequence[calls.decisions.AnyDecision]
    excludes: Sequence[Mapping[str, str]]
    tags: Sequence[str]
    reversibility: str
    review_after: str
    source_refs: Sequence[calls.Named]
    artifact_refs: Sequence[str]
    classification_ref: str


class Assistant:
    """What answers an invocation. A subclass says how in ``run``."""

    def run(self, ctx: InvocationContext) -> None:
        """Read ``ctx.question`` and ``ctx.items``, and write with ``ctx.contribute`` and ``ctx.relate``.

        Returning means success. An exception ends the attempt as failed (``assistant_error``), and the runner
        raises it again.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how it runs: define run(self, ctx)")


class InvocationContext:
    """What an assistant has of the invocation that it runs.

    ``invocation`` is its record, ``assembly`` the context assembly (None where it has none), ``items`` the
    assembly's contributions in its order, ``last_contribution`` what was contributed last, by this attempt or
    one before it. ``lost`` is set once another attempt holds the invocation or it has ended; every step then
    raises it. ``away`` is the last error of a step that the daemon did not answer.
    """

    def __init__(self, worker: WorkerClient, claim: InvocationClaim) -> None:
        self.invocation = claim.invocation
        self.assembly = claim.assembly
        self.items = claim.items
        self.last_contribution: Contribution | None = None
        self.lost: LeaseLost | None = None
        self.away: TransportError | None = None
        self._worker = worker
        self._claim = claim
        self._prefix = f"{claim.invocation.invocation_id}."
        self._done: dict[str, object] = {}

    def learn(self, progress: InvocationProgress) -> None:
        """What was done under the invocation before this attempt; the last of very many steps come without
        their result, and are not known here.
        """
        from tallystick.protocol.families.contributions import Contribution

        for step in progress.steps:
            if step.reply:
                result = _result(step.operation, step.reply.result)
                self._done.setdefault(step.operation_key, result)
                if isinstance(result, Contribution):
                    self.last_contribution = result

    @property
    def question(self) -> Contribution | None:
        """What the invocation is about: the first trigger among its items, else its first question."""
        known = {item.contribution_id: item for item in self.items}
        triggers = () if self.assembly is None else self.assembly.trigger_refs
        triggered = (known[ref] for ref in triggers if ref in known)
        return next(triggered, None) or next((item for item in self.items if item.kind == "question"), None)

    @property
    def space(self) -> calls.SpaceRef:
        """The space that the invocation belongs to. Raises ValueError where it has none."""
        space = calls.attempts.space_of(self._claim)
        if space is None:
            raise ValueError(f"the invocation {self.invocation.invocation_id} has no space to write in")
        return space

    def done(self, operation_key: str) -> Done | None:
        """What was done under this key, by this attempt or one before it; None where nothing was.

        Also None where so much was done that the daemon cannot tell it all in one reply: doing such a step
        again with the same words gives its first result, with others ``IdempotencyMismatch``.
        """
        return cast("Done | None", self._done.get(self._key(operation_key)))

    def contribute(
        self,
        kind: str,
        text: str | None = None,
        *,
        parts: Sequence[calls.contributions.Part] | None = None,
        operation_key: str | None = None,
        addresses: calls.Linkable | None = None,
        **extra: Unpack[Extra],
    ) -> Contribution:
        """Append to the invocation's space, once; with ``addresses``, relate it to that too.

        Without an ``operation_key`` the same kind and words again, with the same further arguments, are the
        same step. The relation is a step of its own, under ``<operation_key>.addresses`` where there is a
        key. Raises ``IdempotencyMismatch`` where the key was used for something else, ``LeaseLost``, and what
        ``Client.append`` raises.
        """
        call = _append(self._claim, self.space, kind, text, parts=parts, **extra)
        self.last_contribution = done = self._step(call, operation_key)
        if addresses is not None:
            key = None if operation_key is None else f"{operation_key}.addresses"
            self._step(_relate(self._claim, self.space, "addresses", done, addresses), key)
        return done

    def decide(
        self,
        decision_key: str,
        value: str,
        reason: str,
        *,
        operation_key: str | None = None,
        **extra: Unpack[DecisionExtra],
    ) -> Decision:
        """Record a decision in the invocation's space, once; without an ``operation_key`` the same decision
        again is the same step. It may only be proposed: its ``state`` says so. Raises as ``contribute`` does.
        """
        call = _decide(self._claim, self.space, decision_key, value, reason, **extra)
        return self._step(call, operation_key)

    def relate(
        self,
        kind: str,
        from_: calls.Linkable,
        to: calls.Linkable,
        *,
        operation_key: str,
        rationale_ref: str | None = None,
    ) -> Relation:
        """Relate two objects of the invocation's space, once under this key. Raises as ``contribute`` does.
        """
        call = _relate(self._claim, self.space, kind, from_, to, rationale_ref=rationale_ref)
        return self._step(call, operation_key)

    def assemble(
        self,
        purpose: str,
        required_refs: Sequence[calls.Named],
        *,
        operation_key: str,
        trigger_refs: Sequence[calls.Named] = (),
        audience_ref: str = calls.DEPLOYMENT,
    ) -> Assembly:
        """Make a context assembly in the invocation's space, once under this key."""
        call = _assemble(
            self._claim,
            self.space,
            purpose,
            required_refs=required_refs,
            trigger_refs=trigger_refs,
            audience_ref=audience_ref,
        )
        return self._step(call, operation_key)

    def item(self, ref: calls.Named) -> InvocationItem:
        """What the assembly names, as it is now, and what became of it since the claim. Raises ``NotFound``
        for what it does not name, and ``LeaseLost``.
        """
        return self.while_held(lambda: self._worker.item(self._claim, ref))

    def download(self, artifact_id: str, target: BinaryIO, *, offset: int = 0) -> int:
        """Write what an item carries to a file, and return its size in all. Raises as ``item`` does."""
        return self.while_held(
            lambda: self._worker.download(self._claim, artifact_id, target, offset=offset)
        )

    def while_held(self, act: Callable[[], T]) -> T:
        """What ``act`` gives. Nothing is read or written once the lease is lost: raises ``LeaseLost`` then.

        Every call of the daemon for the attempt passes here, so that its own failures can be told from the
        assistant's.
        """
        if self.lost is not None:
            raise self.lost
        try:
            return act()
        except StaleLease as problem:
            raise self.lose(problem) from problem
        except TransportError as error:
            self.away = error
            raise

    def lose(self, problem: StaleLease) -> LeaseLost:
        """Remember that the lease is another's; the error for it."""
        if self.lost is None:
            self.lost = LeaseLost(
                problem.problem, operation=problem.operation, key=problem.key, outcome=problem.outcome
            )
        return self.lost

    def _step(self, call: Write[T], operation_key: str | None) -> T:
        """The result of the step: what it was the first time, or what it is now. Whether the key was used for
        the same words is the daemon's to say; nothing is answered from memory.
        """
        call.key = self._key(_said(call) if operation_key is None else operation_key)
        try:
            value = self.while_held(lambda: self._worker.reply(call)).value
        except IdempotencyMismatch as problem:
            if operation_key is not None:
                problem.add_note(
                    f"The operation key {operation_key!r} was used for something else in this invocation."
                    " Give each step a key of its own; a step that may say it differently the next time"
                    f" asks ctx.done({operation_key!r}) first."
                )
            raise
        self._done.setdefault(call.key, value)
        return value

    def _key(self, operation_key: str) -> str:
        """The idempotency key of a step: the same in every attempt of this invocation."""
        key = self._prefix + operation_key
        if not operation_key or not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError(f"the operation key {operation_key!r} must be visible ASCII without spaces")
        if len(key) > limits.IDENTIFIER_BYTES_MAX:
            most = limits.IDENTIFIER_BYTES_MAX - len(self._prefix)
            raise ValueError(f"the operation key {operation_key!r} is longer than {most} characters")
        return key


def _said(call: Write[T]) -> str:
    """A key for a step that was given none: from what it says, without who says it."""
    says = {name: value for name, value in call.arguments.items() if name not in _WHO_SPEAKS}
    return f"said.{hashlib.sha256(encode([call.operation, says], 'replace')).hexdigest()[:32]}"


def _result(operation: str, result: JsonValue) -> object:
    """The result of a worker's operation as its record. Raises ValueError where it does not have that shape.
    """
    from tallystick.protocol.operation import Socket
    from tallystick.protocol.registry import BY_SOCKET
    from tallystick.protocol.shapes import convert

    return convert(result, BY_SOCKET[Socket.WORKER, operation].result)


# --- asking -----------------------------------------------------------------------------------------------
class Asked(NamedTuple):
    """A question that was asked: it, the assembly with what it may be answered from, and the invocation.

    The invocation is as it was made; ``cursor`` is the project's just after that: what became of it comes
    later.
    """

    question: Contribution
    assembly: Assembly
    invocation: Invocation
    cursor: str | None


def ask(
    client: Client,
    project: calls.AnyProject,
    space: calls.AnySpace,
    question_text: str,
    evidence_refs: Sequence[calls.Named] = (),
    deployment_id: str = calls.DEPLOYMENT,
    *,
    deployment_revision: int = 1,
    purpose: str = "answer the question",
    deadline: str | None = None,
    max_attempts: int | None = None,
    key: str | None = None,
) -> Asked:
    """Post a question, assemble it with its evidence, and create the invocation that answers it.

    Three commands, under ``<key>.question``, ``.assembly`` and ``.invocation``: who gives the same key and
    arguments again finds them done, or does what is missing. ``deadline`` is an RFC 3339 timestamp; without
    it the invocation may run until a day after its question. Before the first command all three are checked,
    and that the evidence is in the space: what is wrong is refused (``NotSendable``, ``NotFound``) with
    nothing written.
    """
    key = new_key() if key is None else key
    question = calls.contributions.append(space, "question", question_text, key=f"{key}.question")

    def assembly_of(posted: calls.Named) -> Write[Assembly]:
        return calls.context.context_assembly_create(
            space,
            purpose,
            required_refs=[posted, *evidence_refs],
            trigger_refs=[posted],
            audience_ref=deployment_id,
            key=f"{key}.assembly",
        )

    def invocation_of(assembly: Assembly | None, until: str) -> Write[Invocation]:
        return calls.invocations.invocation_create(
            project,
            space=space,
            assembly=assembly,
            deployment_id=deployment_id,
            deployment_revision=deployment_revision,
            deadline=until,
            max_attempts=max_attempts,
            key=f"{key}.invocation",
        )

    if not key:
        raise NotSendable("$.meta.idempotency_key", "an empty key; leave it out, and one is made")
    for call in (question, assembly_of(_ANY_ID), invocation_of(None, deadline or _ANY_TIME)):
        _check_shape(call)
    _check_deadline(deadline, lambda: _was_posted(client, space.project_id, question.key))
    for ref in evidence_refs:
        _check_evidence(client, space, calls.values.identifier(ref))
    posted = client.reply(question).value
    assembly = client.reply(assembly_of(posted)).value
    until = deadline or _hours_after(posted.created_at, ASK_HOURS)
    made = client.reply(invocation_of(assembly, until))
    return Asked(posted, assembly, made.value, made.event_cursor)


def ask_again(
    client: Client,
    ended: Invocation,
    *,
    deadline: str | None = None,
    max_attempts: int | None = None,
    key: str | None = None,
) -> Asked:
    """Another invocation on the assembly of one that has ended, of the same deployment. Raises ValueError
    where that one has no assembly.
    """
    if not ended.context_assembly_ref:
        raise ValueError(f"the invocation {ended.invocation_id} has no assembly to be answered from again")
    _check_deadline(deadline, lambda: False)
    assembly = client.context_assembly_show(ended.project_id, ended.context_assembly_ref)
    question = client.contribution_show(ended.project_id, assembly.trigger_refs[0])
    deployment = client.deployment_show(ended.assistant_deployment_id)
    options: calls.WriteOptions = {} if key is None else {"key": key}
    made = client.invocation_create(
        ended.project_id,
        space=calls.SpaceRef(assembly.project_id, assembly.space_id, assembly.branch_id),
        assembly=assembly,
        deployment_id=ended.assistant_deployment_id,
        deployment_revision=deployment.revision,
        deadline=deadline or _hours_after(_now(), ASK_HOURS),
        max_attempts=max_attempts,
        **options,
    )
    return Asked(question, assembly, made.value, made.event_cursor)


# --- checked before anything is written -------------------------------------------------------------------
_ANY_ID: Final = "contrib-" + 32 * "0"
_ANY_TIME: Final = "2100-01-01T00:00:00Z"


def _check_shape(call: Write[T]) -> None:
    """The shape of a command as the daemon judges it, without asking it. Raises ``NotSendable``."""
    from tallystick.core import prepare
    from tallystick.protocol.envelope import decode_request
    from tallystick.protocol.operation import Socket
    from tallystick.protocol.problems import Refusal

    try:
        decode_request(prepare(call, "replace").line, Socket.CLIENT)
    except Refusal as refusal:
        raise NotSendable(call.operation, f"{refusal.problem.detail} Nothing was sent.") from None


def _check_deadline(deadline: str | None, is_done: Callable[[], bool]) -> None:
    """That it is a time to come, unless it was asked before. Raises ``NotSendable``."""
    from datetime import datetime

    if deadline is None:
        return
    try:
        moment = datetime.fromisoformat(deadline)
    except ValueError:
        raise NotSendable("deadline", f"{deadline!r} is no RFC 3339 timestamp. Nothing was sent.") from None
    if moment.tzinfo is None or (moment <= datetime.now(moment.tzinfo) and not is_done()):
        raise NotSendable("deadline", f"{deadline} is no time to come; name a later one. Nothing was sent.")


def _was_posted(client: Client, project_id: str, key: str | None) -> bool:
    """Whether a contribution was appended under the key: its event names the request."""
    wanted = request_id(key or "")
    appended = client.events(project_id, type_prefixes=["dev.kovee.space.contribution-appended"])
    return any(event.correlation_ref == wanted for event in appended)


def _check_evidence(client: Client, space: calls.AnySpace, ref: str) -> None:
    """That it is in the space. Raises ``NotFound``, and ``NotSendable``."""
    project = space.project_id
    if ref.startswith("rel-"):
        found = client.relation_show(project, ref).relation.space_id
    else:
        found = client.contribution_show(project, ref).space_id
    if found != space.space_id:
        raise NotSendable("evidence_refs", f"{ref} is in another space, {found}. Nothing was sent.")


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _hours_after(timestamp: str, hours: int) -> str:
    """From the question's own time and not from now: a retry must say the same."""
    from datetime import UTC, datetime, timedelta

    moment = datetime.fromisoformat(timestamp) + timedelta(hours=hours)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
