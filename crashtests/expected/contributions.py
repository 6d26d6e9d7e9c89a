"""What is expected of what is said in a space, and of how it is related."""

from __future__ import annotations

from typing import Final

from cells import KEY, Cell, Refusal
from effects import BRANCH_MOVED, STEP, Place, command, content, insert, update
from entries import BOUND, CONTRIBUTORS, DIGEST, MEMBERS, NOBODY, Entry, Example, JsonObject, Page, listed
from harness.wire import Request
from world import AT_HEAD, CLIENT, WORKER, World, append_args, relation_args


def _appended(example: Example) -> tuple[Example, ...]:
    """What is appended names the head that it expects, or takes any."""
    at = {**example.args, "expected_head_digest": DIGEST}
    return (
        example._replace(args=at, situation="at an expected head"),
        example._replace(ext=AT_HEAD, needs_ext=True, situation="at the head"),
    )


_APPENDS: Final = _appended(
    Example(
        {
            "space_id": "space-1",
            "branch_id": "branch-1",
            "kind": "evidence",
            "body_parts": [
                {"media_type": "text/plain", "text": "The washer is worn.", "language": "en-GB"},
                {"schema_ref": "schema:measure-v1", "value": {"drops": 3.5, "seen": None}},
                {"artifact_ref": "art-1", "title": "a photograph"},
                {"object_ref": "contrib-1", "object_revision": 1, "digest": DIGEST},
                {
                    "target_kind": "principal",
                    "target_ref": "prin-owner",
                    "target_revision": 1,
                    "display_text": "Ada",
                },
            ],
            "schema_ref": "schema:contribution-body-v1",
            "subject_refs": ["contrib-1"],
            "source_refs": ["contrib-2"],
            "epistemic_posture": "observed",
            "classification_ref": "class-default",
            "retention_policy_ref": "ret-default",
        },
        optional=(
            "body_parts[0].language body_parts[2].title body_parts[3].object_revision body_parts[3].digest "
            "schema_ref subject_refs source_refs epistemic_posture classification_ref retention_policy_ref"
        ),
        texts="body_parts[0].text body_parts[2].title body_parts[4].display_text",
        empty="body_parts[0].text",
        free="body_parts[1].value",
    )
)
_RELATIONS: Final = _appended(
    Example(
        {
            "space_id": "space-1",
            "branch_id": "branch-1",
            "kind": "addresses",
            "from_ref": {"object_ref": "contrib-2", "revision": 1, "digest": DIGEST},
            "to_ref": {"object_ref": "contrib-1", "revision": 1, "digest": DIGEST},
            "rationale_ref": "contrib-3",
            "schema_ref": "schema:space-relation-v1",
        },
        optional="rationale_ref schema_ref",
    )
)


ENTRIES: Final = (
    Entry(
        CLIENT,
        "contribution_append",
        "write write_space R R body_parts",
        callers="ok surface",
        agents=CONTRIBUTORS,
        events="dev.kovee.space.contribution-appended.v1",
        ext=AT_HEAD,
        right=lambda s: append_args(s.things.space, "A worn washer.", "claim"),
        examples=_APPENDS,
    ),
    Entry(
        CLIENT,
        "contribution_show",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: {"contribution_id": s.things.question["contribution_id"]},
        examples=(Example({"contribution_id": "contrib-1"}),),
    ),
    Entry(
        CLIENT,
        "contribution_list",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: s.page,
        examples=(
            listed(
                {"space_id": "space-1", "branch_id": "branch-1", "kind": "claim"}, optional="branch_id kind"
            ),
        ),
    ),
    Entry(
        CLIENT,
        "relation_assert",
        "write write_space R R -",
        callers="ok surface",
        agents=CONTRIBUTORS,
        events="dev.kovee.space.relation-asserted.v1",
        ext=AT_HEAD,
        right=lambda s: relation_args(s.things.space, s.things.evidence, s.things.question, "supports"),
        examples=_RELATIONS,
    ),
    Entry(
        WORKER,
        "contribution_append",
        "write worker_fenced R R body_parts",
        callers="ok stale nothing surface",
        agents=NOBODY,
        events="dev.kovee.space.contribution-appended.v1",
        binding=BOUND,
        ext=AT_HEAD,
        right=lambda s: append_args(s.things.space, "A worn washer.", "claim"),
        examples=_APPENDS,
    ),
    Entry(
        WORKER,
        "relation_assert",
        "write worker_fenced R R -",
        callers="ok stale nothing surface",
        agents=NOBODY,
        events="dev.kovee.space.relation-asserted.v1",
        binding=BOUND,
        ext=AT_HEAD,
        right=lambda s: relation_args(s.things.space, s.things.evidence, s.things.question, "supports"),
        examples=_RELATIONS,
    ),
    Entry(
        CLIENT,
        "tallystick_contribution_list",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: s.page,
        examples=(
            listed(
                {"space_id": "space-1", "branch_id": "branch-1", "kind": "claim"}, optional="branch_id kind"
            ),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_relation_show",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: {"relation_id": s.things.relation["relation_id"]},
        examples=(Example({"relation_id": "rel-1"}),),
    ),
    Entry(
        CLIENT,
        "tallystick_relation_list",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: s.page,
        examples=(
            listed(
                {"space_id": "space-1", "kind": "supports", "object_ref": "contrib-1"},
                optional="kind object_ref",
            ),
        ),
    ),
)


_SAID: Final = (
    *command(),
    *content(),
    insert("contributions"),
    update("spaces", "revision", "next_space_sequence", "branch_sequence", "branch_head"),
)
_CARRIED: Final = (*_SAID, insert("artifact_references"))
_RELATED: Final = (*command(), insert("relations"), BRANCH_MOVED)


def _carry(world: World) -> Request:
    parts = [{"artifact_ref": world.others["carried's artifact"], "title": "the washer"}]
    return world.append(KEY, "").changed(body_parts=parts)


def _other_parts(_: World) -> JsonObject:
    return {"body_parts": [{"media_type": "text/plain", "text": "Something else."}]}


def _other_kind(_: World) -> JsonObject:
    return {"kind": "supports"}


CELLS: Final = (
    Cell(
        Place("contribution_append", CLIENT),
        "",
        lambda w: w.append(KEY, "It drips by day too."),
        _other_parts,
        _SAID,
    ),
    Cell(Place("contribution_append", CLIENT), "with an artifact", _carry, _other_parts, _CARRIED),
    Cell(
        Place("contribution_append", WORKER),
        "",
        lambda w: w.as_worker(w.append(KEY, "The washer is worn.", kind="synthesis"), w.attempts["append"]),
        _other_parts,
        (*_SAID, STEP),
    ),
    Cell(
        Place("contribution_append", WORKER),
        "with an artifact",
        lambda w: w.as_worker(_carry(w), w.attempts["append"]),
        _other_parts,
        (*_CARRIED, STEP),
    ),
    Cell(Place("relation_assert", CLIENT), "", lambda w: w.relate(KEY), _other_kind, _RELATED),
    Cell(
        Place("relation_assert", WORKER),
        "",
        lambda w: w.as_worker(w.relate(KEY), w.attempts["relate"]),
        _other_kind,
        (*_RELATED, STEP),
    ),
)


def _moved_head(world: World) -> Request:
    asked = world.append(KEY, "Too late.").changed(expected_head_digest="0" * 64)
    return Request(asked.socket, {name: value for name, value in asked.body.items() if name != "ext"})


def _other_fence(world: World) -> Request:
    attempt = world.attempts["append"]
    return world.as_worker(world.append(KEY, "Not mine."), attempt._replace(fence_epoch=7))


REFUSALS: Final = (
    Refusal(Place("contribution_append", CLIENT), "the head has moved", _moved_head, "stale-revision"),
    Refusal(Place("contribution_append", WORKER), "another fence", _other_fence, "stale-lease"),
)
"""Both are refused behind their savepoint."""

PAGE: Final = Page(ENTRIES, CELLS, REFUSALS)
