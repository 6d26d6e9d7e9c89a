"""What is expected of decisions: what was decided, what contradicts it, and which of it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from cells import KEY, Cell, Refusal
from effects import STEP, Place, Rows, content, delete, insert, told, update
from entries import BOUND, CONTRIBUTORS, MEMBERS, NOBODY, STEWARDS, Entry, Example, JsonObject, Page, listed
from erasing import run_erasure
from harness.dumps import Effect
from harness.wire import Request, request
from world import CLIENT, WORKER, World, decision_args

from tallystick.protocol.operation import Emission, Socket

if TYPE_CHECKING:
    from scene import Scene

RECORD: Final = "tallystick_decision_record"
ADOPT: Final = "tallystick_decision_adopt"

_EVENTS: Final = (
    "dev.kovee.space.contribution-appended.v1 dev.tallystick.decision.recorded.v1 "
    "dev.kovee.space.contribution-superseded.v1 dev.tallystick.decision.contested.v1"
)
_EXAMPLE: Final = Example(
    {
        "space_id": "space-1",
        "key": "db.engine",
        "value": "sqlite",
        "reason": "One file, one writer.",
        "repository": "example.org/ledger",
        "paths": ["services/ledger"],
        "proposed": True,
        "origin": "quoted",
        "supersedes": ["dec-1"],
        "narrows": ["dec-2"],
        "depends_on": ["dec-3"],
        "excludes": [{"key": "db.server", "value": "postgres"}],
        "tags": ["storage"],
        "reversibility": "hard",
        "review_after": "2031-01-31T09:00:00Z",
        "source_refs": ["contrib-1"],
        "artifact_refs": ["art-1"],
        "classification_ref": "class-default",
    },
    optional=(
        "repository paths proposed origin supersedes narrows depends_on excludes excludes[0].value tags "
        "reversibility review_after source_refs artifact_refs classification_ref"
    ),
    texts="value reason repository paths[0] excludes[0].value tags[0]",
)


def _recorded(scene: Scene, to: Socket = CLIENT, **more: object) -> JsonObject:
    """Names a decision of its own."""
    args = decision_args(scene.things.space, scene.key("tap"), "mixer", **more)
    return {"decision_id": scene.done(RECORD, args, to=to)["decision_id"]}


ENTRIES: Final = (
    Entry(
        CLIENT,
        RECORD,
        "write write_space R R value,reason,excludes.value,tags",
        callers="ok surface",
        agents=CONTRIBUTORS,
        events=_EVENTS,
        emission=Emission.SOME,
        right=lambda s: decision_args(s.things.space, s.key("tap"), "mixer"),
        examples=(_EXAMPLE,),
    ),
    Entry(
        CLIENT,
        ADOPT,
        "write write_space R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events=(
            "dev.tallystick.decision.adopted.v1 dev.kovee.space.contribution-superseded.v1 "
            "dev.tallystick.decision.contested.v1"
        ),
        emission=Emission.SOME,
        right=lambda s: _recorded(s, proposed=True),
        examples=(Example({"decision_id": "dec-1"}),),
    ),
    Entry(
        CLIENT,
        "tallystick_decision_current",
        "read read_project R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: {"key": "tap.kind", **s.here},
        examples=(
            Example(
                {"key": "db.engine", "path": "a", "repository": "example.org/a", "space_id": "space-1"},
                optional="path repository space_id",
                texts="path repository",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_decision_show",
        "read read_space R R -",
        callers="ok surface",
        agents=MEMBERS,
        right=_recorded,
        examples=(Example({"decision_id": "dec-1"}),),
    ),
    Entry(
        CLIENT,
        "tallystick_decision_list",
        "read read_project R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: s.page,
        examples=(
            listed(
                {
                    "space_id": "space-1",
                    "key_prefix": "db",
                    "repository": "example.org/a",
                    "paths": ["services"],
                    "include": ["proposed", "withdrawn"],
                    "contested": True,
                    "unratified": False,
                },
                optional="space_id key_prefix repository paths include contested unratified",
            )._replace(texts="after snapshot repository paths[0]"),
        ),
    ),
    Entry(
        WORKER,
        RECORD,
        "write worker_fenced R R value,reason,excludes.value,tags",
        callers="ok stale nothing surface",
        agents=NOBODY,
        events=_EVENTS,
        emission=Emission.SOME,
        binding=BOUND,
        right=lambda s: decision_args(s.things.space, s.key("tap"), "mixer"),
        examples=(_EXAMPLE,),
    ),
    Entry(
        WORKER,
        "tallystick_decision_show",
        "read worker_fenced R R -",
        callers="ok stale nothing surface",
        agents=NOBODY,
        binding=BOUND,
        right=lambda s: _recorded(s, WORKER, **{name: s.attempt.args[name] for name in BOUND}),
        examples=(Example({"decision_id": "dec-1"}),),
    ),
)


# --- crash cells --------------------------------------------------------------------------------------------
_SPACE_SAID: Final = update("spaces", "revision", "next_space_sequence", "branch_sequence", "branch_head")
_SAID: Final = (*content(), insert("contributions"), _SPACE_SAID, insert("decisions"))
_FALLEN: Final = (
    insert("dispositions"),
    update("decisions", "state", "revision"),
    delete("decision_places"),
    delete("decision_exclusions"),
)
_ENDED: Final = update("decision_conflicts", "ended")


def _record(world: World, key: str, value: str, **more: object) -> Request:
    args = decision_args(world.space, key, value, **more)
    return request(CLIENT, RECORD, args, project=world.project, key=KEY)


def _new(world: World) -> Request:
    excludes = [{"key": "tap.finish", "value": "matt"}]
    return _record(world, "tap.material", "brass", paths=["sink"], excludes=excludes)


def _over_another(world: World) -> Request:
    return _record(world, "tap.kind", "wall", paths=["sink"], supersedes=[world.others["decision"]])


def _with_artifact(world: World) -> Request:
    return _record(world, "tap.material", "steel", artifact_refs=[world.others["carried's artifact"]])


def _adopt(world: World, name: str) -> Request:
    return request(CLIENT, ADOPT, {"decision_id": world.others[name]}, project=world.project, key=KEY)


def _other_value(_: World) -> JsonObject:
    return {"value": "plastic"}


def _other_decision(world: World) -> JsonObject:
    return {"decision_id": world.others["decision"]}


def _fall(operation: str, *more: str) -> Cell:
    """A decision that falls by one of KCP's own operations."""

    def make(world: World) -> Request:
        args: JsonObject = {
            "contribution_ref": world.others["decision's contribution"],
            "reason_class": "mistake",
        }
        args |= dict.fromkeys(more, world.question["contribution_id"])
        return request(CLIENT, operation, args, project=world.project, key=KEY)

    rows = (*told(1), *_FALLEN, _ENDED, update("spaces", "revision"))
    return Cell(Place(operation, CLIENT), "a decision", make, lambda _: {"reason_class": "another"}, rows)


def _redact(world: World) -> Request:
    args = {"contribution_ref": world.others["decision's contribution"], "reason_class": "asked"}
    return request(CLIENT, "contribution_redact", args, project=world.project, key=KEY)


_UNBOUND: Final[Rows] = (
    insert("log"),
    insert("idempotency"),
    insert("ids", 2),
    insert("outbox"),
    insert("dispositions"),
    insert("erasures"),
    delete("bodies"),
    delete("object_keys"),
    update("spaces", "revision"),
    delete("decision_places"),
    delete("decision_exclusions"),
    _ENDED,
)

_TOLD_BY_TWO: Final = tuple(_EVENTS.split()[:2])
_SITUATIONS: Final[tuple[tuple[str, Callable[[World], Request], Rows, tuple[str, ...]], ...]] = (
    ("", lambda w: _record(w, "tap.material", "brass"), (*told(2), *_SAID), _TOLD_BY_TWO),
    (
        "in a place",
        _new,
        (*told(2), *_SAID, insert("decision_places"), insert("decision_exclusions")),
        _TOLD_BY_TWO,
    ),
    (
        "with an artifact",
        _with_artifact,
        (*told(2), *_SAID, insert("artifact_references")),
        _TOLD_BY_TWO,
    ),
    (
        "over another, and contested",
        _over_another,
        (
            *told(4),
            *_SAID,
            *_FALLEN,
            _ENDED,
            insert("decision_links"),
            insert("decision_places"),
            insert("decision_conflicts"),
        ),
        tuple(_EVENTS.split()),
    ),
)


def _of_worker(make: Callable[[World], Request]) -> Callable[[World], Request]:
    return lambda world: world.as_worker(make(world), world.attempts["append"])


CELLS: Final = (
    *(
        Cell(Place(RECORD, CLIENT), situation, make, _other_value, rows, events=events)
        for situation, make, rows, events in _SITUATIONS
    ),
    *(
        Cell(Place(RECORD, WORKER), situation, _of_worker(make), _other_value, (*rows, STEP), events=events)
        for situation, make, rows, events in _SITUATIONS
    ),
    Cell(
        Place(ADOPT, CLIENT),
        "",
        lambda w: _adopt(w, "plain-proposal"),
        _other_decision,
        (*told(1), update("decisions", "state", "revision")),
        events=("dev.tallystick.decision.adopted.v1",),
    ),
    Cell(
        Place(ADOPT, CLIENT),
        "over another, and contested",
        lambda w: _adopt(w, "proposal"),
        _other_decision,
        (
            *told(3),
            insert("dispositions"),
            Effect("decisions", "update", 2, frozenset({"state", "revision"})),
            delete("decision_places"),
            delete("decision_exclusions"),
            _ENDED,
            insert("decision_places"),
            insert("decision_exclusions"),
            insert("decision_conflicts"),
            update("spaces", "revision"),
        ),
    ),
    _fall("contribution_withdraw"),
    _fall("contribution_supersede", "replacement_ref"),
    Cell(
        Place("contribution_redact", CLIENT),
        "a decision",
        _redact,
        lambda _: {"reason_class": "another"},
        _UNBOUND,
        run=run_erasure,
    ),
)


def _fallen_already(world: World) -> Request:
    return _record(world, "tap.kind", "none", supersedes=["dec-" + "0" * 32])


REFUSALS: Final = (
    Refusal(Place(RECORD, CLIENT), "what it names is not there", _fallen_already, "not-found"),
)

PAGE: Final = Page(ENTRIES, CELLS, REFUSALS)
