"""What the calls share: how an object is named, what every call takes, and how arguments are made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypedDict

if TYPE_CHECKING:
    from tallystick.protocol.families.contributions import Contribution, ObjectRef, Relation
    from tallystick.protocol.families.projects import Project, Space

DEPLOYMENT: Final = "dep-local-dev"
"""The built-in deployment of assistants."""


class SpaceRef(NamedTuple):
    """Where a space is, for whoever has its identifiers and not its record."""

    project_id: str
    space_id: str
    main_branch_id: str


# In quotes, since the records are not imported before they are needed.
Linkable: TypeAlias = "ObjectRef | Contribution | Relation"
Named: TypeAlias = "Linkable | str"
AnyProject: TypeAlias = "Project | str"
AnySpace: TypeAlias = "Space | SpaceRef"


class ReadOptions(TypedDict, total=False):
    """What every read takes: ``deadline_seconds`` for this call, and extensions of the envelope."""

    deadline_seconds: float
    ext: Mapping[str, object]


class WriteOptions(TypedDict, total=False):
    """What every write takes.

    ``key``: the idempotency key, 1 to 128 visible ASCII characters; a new one where it is left out. The same
    key with the same arguments is the same command. ``expected_revision``: refuse (``StaleRevision``) unless
    the aggregate stands there. ``causation_event_ref``, ``traceparent``: what the command's events will name.
    """

    key: str
    expected_revision: int
    causation_event_ref: str
    traceparent: str
    deadline_seconds: float
    ext: Mapping[str, object]


# --- records and identifiers as arguments -----------------------------------------------------------------
def project_id(project: AnyProject) -> str:
    """The identifier of a project given as its record or its identifier."""
    return project if isinstance(project, str) else project.project_id


def optional_project(project: AnyProject | None) -> str | None:
    """The same, where a project may be left out."""
    return None if project is None else project_id(project)


def identifier(item: Named) -> str:
    """The identifier of an object given as its record or its identifier."""
    if isinstance(item, str):
        return item
    for member in ("object_ref", "contribution_id", "relation_id"):
        if (value := getattr(item, member, None)) is not None:
            return str(value)
    raise TypeError(f"a {type(item).__name__} is no object of a space; give a contribution or a relation")


def identifiers(items: Iterable[Named]) -> list[str]:
    """``identifier`` of each."""
    return [identifier(item) for item in items]


def pinned(item: Linkable) -> dict[str, object]:
    """The triple that pins an object at its revision and digest."""
    digest = getattr(item, "content_digest", None) or getattr(item, "digest", None)
    return {"object_ref": identifier(item), "revision": item.revision, "digest": digest}


def page_arguments(limit: int, after: str | None, snapshot: str | None) -> dict[str, object]:
    """What every list takes: how many items, after which one, of which snapshot."""
    return {"after": after, "limit": limit, "snapshot": snapshot}
