"""The arguments of every operation, a module a family (KCP appendix A; ours are named ``Tallystick…``).

Closed structs like the records. What stands in several operations stands once, in `_base`; rules that need
the socket or the request's ext (the attempt binding, the expected head) are `envelope`'s.
"""

from ._base import Args, AttemptArgs, DualArgs, FencedArgs, NoArgs, PageArgs
from .agent import (
    TallystickAgentAddArgs,
    TallystickAgentListArgs,
    TallystickAgentRevokeArgs,
    TallystickAgentShowArgs,
)
from .alias import (
    AssistantAliasBindArgs,
    AssistantAliasListArgs,
    AssistantAliasRevokeArgs,
    AssistantAliasShowArgs,
    AssistantAliasUpdateArgs,
)
from .artifact import (
    ArtifactShowArgs,
    ArtifactUploadAbortArgs,
    ArtifactUploadBeginArgs,
    ArtifactUploadCredentialArgs,
    ArtifactUploadFinalizeArgs,
    ArtifactUploadShowArgs,
)
from .artifact_bytes import (
    TallystickArtifactBeginArgs,
    TallystickArtifactGetArgs,
    TallystickArtifactListArgs,
    TallystickArtifactPutArgs,
)
from .assistant import (
    AssistantCreateArgs,
    AssistantListArgs,
    AssistantRevisionListArgs,
    AssistantRevisionRegisterArgs,
    AssistantRevisionShowArgs,
    AssistantShowArgs,
)
from .completion import ModelCompleteArgs
from .context import ContextAssemblyCreateArgs, ContextAssemblyShowArgs, FrontierPinArgs, FrontierShowArgs
from .contribution import (
    APPEND_EXTENSION,
    AppendExtension,
    ContributionAppendArgs,
    ContributionListArgs,
    ContributionShowArgs,
    HeadArgs,
    RelationAssertArgs,
)
from .deployment import (
    DeploymentActivateArgs,
    DeploymentCreateArgs,
    DeploymentDrainArgs,
    DeploymentListArgs,
    DeploymentShowArgs,
)
from .disclosure import DisclosureManifestShowArgs
from .disposition import (
    ContributionRedactArgs,
    ContributionSupersedeArgs,
    ContributionWithdrawArgs,
    RelationRetractArgs,
)
from .emission import ApplicationEventEmitArgs
from .erasure import TallystickEraseArgs
from .event import EventPayloadArgs, EventsReadArgs, EventsWaitArgs, EventsWaitFilters
from .grant import SpaceAccessGrantCreateArgs, SpaceAccessGrantListArgs, SpaceAccessGrantRevokeArgs
from .invocation import (
    LEASE_EXTENSION,
    InvocationCancelArgs,
    InvocationClaimArgs,
    InvocationCompleteArgs,
    InvocationCreateArgs,
    InvocationListArgs,
    InvocationShowArgs,
    LeaseExtension,
    TallystickInvocationFailArgs,
    TallystickInvocationProgressArgs,
    TallystickInvocationRenewArgs,
)
from .lens import LensCreateArgs, LensListArgs, LensReadArgs, LensRevokeArgs, LensShowArgs, LensUpdateArgs
from .lifecycle import (
    ProjectUpdateMetadataArgs,
    SpaceArchiveArgs,
    SpaceFreezeArgs,
    SpacePolicyNarrowArgs,
    SpaceReopenArgs,
    SpaceRestrictArgs,
    SpaceUpdateMetadataArgs,
)
from .next import TallystickInvocationNextArgs
from .participant import (
    SpaceParticipantActivateArgs,
    SpaceParticipantAddArgs,
    SpaceParticipantListArgs,
    SpaceParticipantRemoveArgs,
    SpaceParticipantUpdateArgs,
)
from .policy import (
    ProjectAccessPolicyChangeCancelArgs,
    ProjectAccessPolicyChangeConfirmArgs,
    ProjectAccessPolicyChangeListArgs,
    ProjectAccessPolicyChangePrepareArgs,
    ProjectAccessPolicyChangeShowArgs,
)
from .reaction import ReactionSetArgs
from .reading import (
    TallystickAssemblyListArgs,
    TallystickBranchShowArgs,
    TallystickContributionListArgs,
    TallystickDispositionListArgs,
    TallystickEventsReadArgs,
    TallystickFrontierListArgs,
    TallystickRelationListArgs,
    TallystickRelationShowArgs,
)
from .realm import ProjectCreateArgs, ProjectListArgs, ProjectShowArgs, RealmShowArgs
from .service import (
    DiagnoseArgs,
    HelloArgs,
    ProtocolInfoArgs,
    TallystickLimitsArgs,
    TallystickShutdownArgs,
    TallystickStatusArgs,
)
from .snapshot import SnapshotReadArgs
from .space import SpaceCreateArgs, SpaceListArgs, SpaceShowArgs
from .widening import (
    SpaceAccessWidenCancelArgs,
    SpaceAccessWidenConfirmArgs,
    SpaceAccessWidenListArgs,
    SpaceAccessWidenPrepareArgs,
    SpaceAccessWidenShowArgs,
)

__all__ = [
    "APPEND_EXTENSION",
    "LEASE_EXTENSION",
    "AppendExtension",
    "ApplicationEventEmitArgs",
    "Args",
    "ArtifactShowArgs",
    "ArtifactUploadAbortArgs",
    "ArtifactUploadBeginArgs",
    "ArtifactUploadCredentialArgs",
    "ArtifactUploadFinalizeArgs",
    "ArtifactUploadShowArgs",
    "AssistantAliasBindArgs",
    "AssistantAliasListArgs",
    "AssistantAliasRevokeArgs",
    "AssistantAliasShowArgs",
    "AssistantAliasUpdateArgs",
    "AssistantCreateArgs",
    "AssistantListArgs",
    "AssistantRevisionListArgs",
    "AssistantRevisionRegisterArgs",
    "AssistantRevisionShowArgs",
    "AssistantShowArgs",
    "AttemptArgs",
    "ContextAssemblyCreateArgs",
    "ContextAssemblyShowArgs",
    "ContributionAppendArgs",
    "ContributionListArgs",
    "ContributionRedactArgs",
    "ContributionShowArgs",
    "ContributionSupersedeArgs",
    "ContributionWithdrawArgs",
    "DeploymentActivateArgs",
    "DeploymentCreateArgs",
    "DeploymentDrainArgs",
    "DeploymentListArgs",
    "DeploymentShowArgs",
    "DiagnoseArgs",
    "DisclosureManifestShowArgs",
    "DualArgs",
    "EventPayloadArgs",
    "EventsReadArgs",
    "EventsWaitArgs",
    "EventsWaitFilters",
    "FencedArgs",
    "FrontierPinArgs",
    "FrontierShowArgs",
    "HeadArgs",
    "HelloArgs",
    "InvocationCancelArgs",
    "InvocationClaimArgs",
    "InvocationCompleteArgs",
    "InvocationCreateArgs",
    "InvocationListArgs",
    "InvocationShowArgs",
    "LeaseExtension",
    "LensCreateArgs",
    "LensListArgs",
    "LensReadArgs",
    "LensRevokeArgs",
    "LensShowArgs",
    "LensUpdateArgs",
    "ModelCompleteArgs",
    "NoArgs",
    "PageArgs",
    "ProjectAccessPolicyChangeCancelArgs",
    "ProjectAccessPolicyChangeConfirmArgs",
    "ProjectAccessPolicyChangeListArgs",
    "ProjectAccessPolicyChangePrepareArgs",
    "ProjectAccessPolicyChangeShowArgs",
    "ProjectCreateArgs",
    "ProjectListArgs",
    "ProjectShowArgs",
    "ProjectUpdateMetadataArgs",
    "ProtocolInfoArgs",
    "ReactionSetArgs",
    "RealmShowArgs",
    "RelationAssertArgs",
    "RelationRetractArgs",
    "SnapshotReadArgs",
    "SpaceAccessGrantCreateArgs",
    "SpaceAccessGrantListArgs",
    "SpaceAccessGrantRevokeArgs",
    "SpaceAccessWidenCancelArgs",
    "SpaceAccessWidenConfirmArgs",
    "SpaceAccessWidenListArgs",
    "SpaceAccessWidenPrepareArgs",
    "SpaceAccessWidenShowArgs",
    "SpaceArchiveArgs",
    "SpaceCreateArgs",
    "SpaceFreezeArgs",
    "SpaceListArgs",
    "SpaceParticipantActivateArgs",
    "SpaceParticipantAddArgs",
    "SpaceParticipantListArgs",
    "SpaceParticipantRemoveArgs",
    "SpaceParticipantUpdateArgs",
    "SpacePolicyNarrowArgs",
    "SpaceReopenArgs",
    "SpaceRestrictArgs",
    "SpaceShowArgs",
    "SpaceUpdateMetadataArgs",
    "TallystickAgentAddArgs",
    "TallystickAgentListArgs",
    "TallystickAgentRevokeArgs",
    "TallystickAgentShowArgs",
    "TallystickArtifactBeginArgs",
    "TallystickArtifactGetArgs",
    "TallystickArtifactListArgs",
    "TallystickArtifactPutArgs",
    "TallystickAssemblyListArgs",
    "TallystickBranchShowArgs",
    "TallystickContributionListArgs",
    "TallystickDispositionListArgs",
    "TallystickEraseArgs",
    "TallystickEventsReadArgs",
    "TallystickFrontierListArgs",
    "TallystickInvocationFailArgs",
    "TallystickInvocationNextArgs",
    "TallystickInvocationProgressArgs",
    "TallystickInvocationRenewArgs",
    "TallystickLimitsArgs",
    "TallystickRelationListArgs",
    "TallystickRelationShowArgs",
    "TallystickShutdownArgs",
    "TallystickStatusArgs",
]
