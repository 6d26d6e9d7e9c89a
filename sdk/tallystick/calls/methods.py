"""All methods of the clients: ``ClientMethods`` on the main socket, ``WorkerMethods`` on the workers' socket.

A family is one line in each, where it has methods there. The methods themselves, with their arguments and
docstrings, stand in the family's module.
"""

from tallystick import calls


class ClientMethods(
    calls.service.ServiceMethods,
    calls.agents.AgentsMethods,
    calls.projects.ProjectsMethods,
    calls.access_changes.AccessChangesMethods,
    calls.participants.ParticipantsMethods,
    calls.grants.GrantsMethods,
    calls.contributions.ContributionsMethods,
    calls.dispositions.DispositionsMethods,
    calls.reactions.ReactionsMethods,
    calls.lenses.LensesMethods,
    calls.snapshots.SnapshotsMethods,
    calls.context.ContextMethods,
    calls.invocations.InvocationsMethods,
    calls.assistants.AssistantsMethods,
    calls.deployments.DeploymentsMethods,
    calls.aliases.AliasesMethods,
    calls.events.EventsMethods,
    calls.erasure.ErasureMethods,
    calls.artifacts.ArtifactsMethods,
    calls.signers.SignersMethods,
    calls.gates.GatesMethods,
    calls.decisions.DecisionsMethods,
):
    """The methods of ``Client`` and ``TrioClient``."""


class WorkerMethods(
    calls.service.ServiceWorkerMethods,
    calls.contributions.ContributionsWorkerMethods,
    calls.context.ContextWorkerMethods,
    calls.invocations.InvocationsWorkerMethods,
    calls.work.WorkWorkerMethods,
    calls.emissions.EmissionsWorkerMethods,
    calls.decisions.DecisionsWorkerMethods,
):
    """The methods of ``WorkerClient`` and ``TrioWorkerClient``."""
