"""Take an interrupted conversion up with another `max_memory`.

Regions are cut for the memory, and a journal counts them. So the journal says for which memory they
were cut, and a call with another one, as on another machine, plans with the journal's: the regions
are those that were begun, and fewer of them run at once. Where a single one does not fit any more,
that is an error which says so.

This module knows plans and journals. It must not know how a plan is made.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from omnizarr.errors import ErrorLocation, MetadataError, NodeExistsError
from omnizarr.jobs.conversion.destination import unfinished
from omnizarr.jobs.conversion.plan import ConversionPlan, Manner, NodePlan
from omnizarr.jobs.conversion.region_memory import for_tasks
from omnizarr.runtime.progress import size


def taken_up(
    plan: ConversionPlan, manner: Manner, planned_for: Callable[[int], ConversionPlan]
) -> ConversionPlan:
    """The plan of the interrupted run, if it is this conversion with another memory; else the one
    that is given. `planned_for` makes the plan for a memory."""
    if not manner.resume:
        return plan
    found = None
    with suppress(MetadataError):  # what is done about a damaged journal is seen later
        found = unfinished(plan)
    if found is None or not found.empty or found.fingerprint == plan.fingerprint:
        return plan
    if found.memory is None or found.memory == plan.memory:
        return plan
    begun = planned_for(found.memory)
    if begun.fingerprint != found.fingerprint:
        return plan
    if all(_fits(*pair, plan.memory) for pair in zip(begun.nodes, plan.nodes, strict=True)):
        return begun
    if manner.overwrite:
        return plan
    where = ErrorLocation.of(plan.target.store, key=plan.journal_key)
    raise (
        NodeExistsError(
            f"this conversion was interrupted, and its regions are too large for max_memory="
            f"{size(plan.memory)}"
        )
        .at(where)
        .advise(
            "{}, as it was begun with, goes on; {} begins anew",
            ("max_memory", found.memory),
            ("resume", False),
        )
    )


def _fits(begun: NodePlan, now: NodePlan, memory: int) -> bool:
    """Whether a region takes no more than the memory or, if one chunk needs more, than that."""
    if begun.rechunking is None or now.rechunking is None:
        return True
    return begun.rechunking.memory <= max(for_tasks(memory), now.rechunking.memory)
