"""The arguments of every operation, a module a family (KCP appendix A; ours are named ``Tallystick…``).

Closed structs like the records. What stands in several operations stands once, in `_base`; rules that need
the socket or the request's ext (the attempt binding, the expected head) are `envelope`'s.
"""

from ._base import Args, AttemptArgs, DualArgs, NoArgs, PageArgs
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
from .event import EventPayloadArgs, EventsReadArgs, EventsWaitArgs, EventsWaitFilters
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
from .realm import ProjectCreateArgs, ProjectListArgs, ProjectShowArgs, RealmShowArgs
from .service import (
    DiagnoseArgs,
    HelloArgs,
    ProtocolInfoArgs,
    TallystickLimitsArgs,
    TallystickShutdownArgs,
    TallystickStatusArgs,
)
from .space import SpaceCreateArgs, SpaceListArgs, SpaceShowArgs

__all__ = [
    "APPEND_EXTENSION",
    "LEASE_EXTENSION",
    "AppendExtension",
    "Args",
    "AttemptArgs",
    "ContextAssemblyCreateArgs",
    "ContextAssemblyShowArgs",
    "ContributionAppendArgs",
    "ContributionListArgs",
    "ContributionShowArgs",
    "DiagnoseArgs",
    "DualArgs",
    "EventPayloadArgs",
    "EventsReadArgs",
    "EventsWaitArgs",
    "EventsWaitFilters",
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
    "NoArgs",
    "PageArgs",
    "ProjectCreateArgs",
    "ProjectListArgs",
    "ProjectShowArgs",
    "ProtocolInfoArgs",
    "RealmShowArgs",
    "RelationAssertArgs",
    "SpaceCreateArgs",
    "SpaceListArgs",
    "SpaceShowArgs",
    "TallystickInvocationFailArgs",
    "TallystickInvocationProgressArgs",
    "TallystickInvocationRenewArgs",
    "TallystickLimitsArgs",
    "TallystickShutdownArgs",
    "TallystickStatusArgs",
]
