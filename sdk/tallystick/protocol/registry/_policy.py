"""The prepared changes of a project's access policy: what is confirmed is what was prepared."""

from typing import Final

from tallystick.protocol import arguments, records

from ._model import (
    COMMAND_ROWS,
    GUARDED_WRITES,
    LISTS,
    ONE_ID,
    READS,
    SHARED_SPACE,
    Kind,
    Mode,
    Operation,
    Placement,
    RowEffect,
    Socket,
)

ENDED: Final = RowEffect("prepared_changes", "update", columns=("state", "revision", "terminal_ms"))
FOUND_STALE: Final = RowEffect("prepared_changes", "update", columns=("state", "terminal_ms"))
"""Of a refusal, which tells nobody: the revision stays."""
CONFIRMED: Final = RowEffect(
    "prepared_changes", "update", columns=("state", "revision", "decision_receipt_ref", "terminal_ms")
)

POLICY: Final = (
    Operation(
        name="project_access_policy_change_prepare",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.WRITE,
        mode=Mode.OWNER,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.ProjectAccessPolicyChangePrepareArgs,
        result=records.ProjectAccessPolicyChange,
        problems=GUARDED_WRITES,
        events=("dev.kovee.project.policy-change-prepared.v1",),
        rows=(*COMMAND_ROWS, ONE_ID, RowEffect("prepared_changes", "insert")),
        summary="Prepare another access policy for a project, bound to all that it reaches.",
    ),
    Operation(
        name="project_access_policy_change_show",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_PROJECT,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.ProjectAccessPolicyChangeShowArgs,
        result=records.ProjectAccessPolicyChange,
        problems=READS,
        summary="One prepared change.",
    ),
    Operation(
        name="project_access_policy_change_list",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_PROJECT,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.ProjectAccessPolicyChangeListArgs,
        result=records.ProjectAccessPolicyChangePage,
        problems=LISTS,
        summary="The project's prepared changes, a page at a time, in order of creation.",
    ),
    Operation(
        name="project_access_policy_change_confirm",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.WRITE,
        mode=Mode.OWNER,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.ProjectAccessPolicyChangeConfirmArgs,
        result=records.ProjectAccessPolicyChange,
        problems=GUARDED_WRITES,
        events=("dev.kovee.project.policy-change-confirmed.v1",),
        rows=(
            *COMMAND_ROWS,
            ONE_ID,
            CONFIRMED,
            RowEffect(
                "projects",
                "update",
                columns=("revision", "policy_set_ref", "default_classification_ref"),
            ),
        ),
        refusal_rows=(RowEffect("log", "insert"), FOUND_STALE),
        summary="Put a prepared change into force, if nothing that it is bound to has moved.",
    ),
    Operation(
        name="project_access_policy_change_cancel",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.WRITE,
        mode=Mode.OWNER,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.ProjectAccessPolicyChangeCancelArgs,
        result=records.ProjectAccessPolicyChange,
        problems=GUARDED_WRITES,
        events=("dev.kovee.project.policy-change-canceled.v1",),
        rows=(*COMMAND_ROWS, ONE_ID, ENDED),
        summary="Drop a prepared change.",
    ),
)
