"""Long work: a list of independent tasks on any executor, with progress and a journal.

    Progress, Reporter   how far a job is, told to a callable or drawn on a terminal
    Journal              what is done already, kept beside the result: a killed job goes on
    run, Shared          the tasks, on threads, processes or whatever has `submit`

This package knows tasks, stores and executors. It must not know what a task does.
"""

from omnizarr.jobs.journal import Journal
from omnizarr.jobs.progress import Progress, Reporter
from omnizarr.jobs.run import Shared, run, workers_for

__all__ = ["Journal", "Progress", "Reporter", "Shared", "run", "workers_for"]
