"""The parts of a contribution's body: five shapes that are told apart by their members."""

from typing import Final, Literal

from msgspec import UNSET, UnsetType

from tallystick.protocol.records import Record
from tallystick.protocol.shapes import (
    AnyJson,
    DigestHex,
    DisplayName,
    Identifier,
    InlineText,
    LanguageTag,
    MediaType,
    MentionTarget,
    SafeInt,
)

_PART_SHAPES: Final[tuple[tuple[str, frozenset[str], frozenset[str]], ...]] = (
    ("text", frozenset({"media_type", "text"}), frozenset({"language"})),
    ("data", frozenset({"schema_ref", "value"}), frozenset()),
    ("artifact", frozenset({"artifact_ref"}), frozenset({"title"})),
    ("reference", frozenset({"object_ref"}), frozenset({"object_revision", "digest"})),
    (
        "mention",
        frozenset({"target_kind", "target_ref", "target_revision", "display_text"}),
        frozenset(),
    ),
)
"""Name, required and optional members of the five parts. No member stands in two of them."""

_SHAPE_OF: Final = {member: shape for shape in _PART_SHAPES for member in shape[1] | shape[2]}
PartShape = Literal["text", "data", "artifact", "reference", "mention"]


class ContributionPart(Record, frozen=True, kw_only=True):
    """One part of a body: a text, data, artifact, reference or mention, told apart by its members."""

    media_type: MediaType | UnsetType = UNSET
    text: InlineText | UnsetType = UNSET
    language: LanguageTag | UnsetType = UNSET
    schema_ref: Identifier | UnsetType = UNSET
    value: AnyJson = UNSET
    artifact_ref: Identifier | UnsetType = UNSET
    title: DisplayName | UnsetType = UNSET
    object_ref: Identifier | UnsetType = UNSET
    object_revision: SafeInt | UnsetType = UNSET
    digest: DigestHex | UnsetType = UNSET
    target_kind: MentionTarget | UnsetType = UNSET
    target_ref: Identifier | UnsetType = UNSET
    target_revision: SafeInt | UnsetType = UNSET
    display_text: DisplayName | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.text is not UNSET and self.media_type is not UNSET and self._alone():
            return  # nearly every part: a text
        present = {member for member in _SHAPE_OF if getattr(self, member) is not UNSET}
        if not present:
            raise ValueError(f"a part must be one of {_part_words()}, and has no member")
        name, required, optional = _SHAPE_OF[min(present, key=_rank)]
        if foreign := present - required - optional:
            raise ValueError(
                f"a part is one of {_part_words()}; the members {', '.join(sorted(foreign))} do not stand in "
                f"a {name} part"
            )
        if missing := required - present:
            raise ValueError(f"a {name} part needs the members {', '.join(sorted(missing))}")

    def _alone(self) -> bool:
        return (
            self.schema_ref is UNSET
            and self.value is UNSET
            and self.artifact_ref is UNSET
            and self.title is UNSET
            and self.object_ref is UNSET
            and self.object_revision is UNSET
            and self.digest is UNSET
            and self.target_kind is UNSET
            and self.target_ref is UNSET
            and self.target_revision is UNSET
            and self.display_text is UNSET
        )

    @property
    def shape(self) -> PartShape:
        """Which of the five it is."""
        if self.text is not UNSET:
            return "text"
        if self.schema_ref is not UNSET:
            return "data"
        if self.artifact_ref is not UNSET:
            return "artifact"
        return "reference" if self.object_ref is not UNSET else "mention"


def _rank(member: str) -> int:
    return next(i for i, (_, required, optional) in enumerate(_PART_SHAPES) if member in required | optional)


def _part_words() -> str:
    return "; ".join(
        f"{name} {{{', '.join([*sorted(required), *(f'{o}?' for o in sorted(optional))])}}}"
        for name, required, optional in _PART_SHAPES
    )
