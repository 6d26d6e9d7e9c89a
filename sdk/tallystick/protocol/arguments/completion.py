"""Arguments of calls to a model."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.records import DigestRef
from tallystick.protocol.shapes import Identifier, ModelPrompt, ModelSystem, PositiveInt, SafeInt

from ._base import FencedArgs


class ModelCompleteArgs(FencedArgs, frozen=True, kw_only=True):
    """What to say to which model profile, and under which authority.

    No provider, address or credential can be named here: a worker calls a profile.
    """

    model_profile_ref: Identifier
    purpose_ref: Identifier
    classification_ref: Identifier
    prompt: ModelPrompt
    system: ModelSystem | UnsetType = UNSET
    max_output_tokens: PositiveInt
    stable_binding_key: Identifier | UnsetType = UNSET
    act_intent_ref: Identifier
    act_intent_digest: DigestRef
    act_revision: SafeInt
    subject_digest: DigestRef
    context_manifest_ref: Identifier
    context_manifest_digest: DigestRef
    stable_execution_key: Identifier
    budget_reservation_set_ref: Identifier
