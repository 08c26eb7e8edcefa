//! Threads for one call: none before it, none after it.

use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Builder, scope};
use std::time::{Duration, Instant};

/// How often the calling thread looks whether it is interrupted.
const PULSE: Duration = Duration::from_millis(40);

/// How many cores this process may use.
pub fn cores() -> usize {
    // SAFETY: plain bits, all of which may be 0.
    let mut cores: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: room for the set, and its true size.
    let found = unsafe { libc::sched_getaffinity(0, size_of_val(&cores), &mut cores) };
    if found != 0 {
        // More than fit into the set.
        return std::thread::available_parallelism().map_or(1, usize::from);
    }
    // SAFETY: a set.
    usize::try_from(unsafe { libc::CPU_COUNT(&cores) }).unwrap_or(1)
}

/// Call `work(state, from, to)` for all tasks `0..tasks`, some at a time, on so many threads, with the
/// GIL released. Each thread has a `state()` of its own. `check` is called now and then by the
/// calling thread; what it raises, or a signal, ends the call.
pub fn run<S>(
    py: Python<'_>,
    threads: usize,
    tasks: usize,
    together: usize,
    check: &Bound<'_, PyAny>,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize, usize) + Sync,
) -> PyResult<()> {
    if tasks == 0 {
        return Ok(());
    }
    let next = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let interrupt: Mutex<Option<PyErr>> = Mutex::new(None);
    let check = check.clone().unbind();
    // False if the call was interrupted.
    let pulse = || {
        let found = Python::attach(|py| {
            py.check_signals()?;
            check.call0(py).map(drop)
        });
        let Err(error) = found else { return true };
        stopped.store(true, Ordering::Relaxed);
        if let Ok(mut interrupt) = interrupt.lock() {
            *interrupt = Some(error);
        }
        false
    };
    let serve = |calling: bool| {
        let mut own = state();
        let mut last = Instant::now();
        while !stopped.load(Ordering::Relaxed) {
            let first = next.fetch_add(together, Ordering::Relaxed);
            if first >= tasks {
                break;
            }
            work(&mut own, first, tasks.min(first.saturating_add(together)));
            if calling && last.elapsed() > PULSE {
                if !pulse() {
                    break;
                }
                last = Instant::now();
            }
        }
    };
    py.detach(|| {
        if threads < 2 {
            serve(true);
            return;
        }
        scope(|call| {
            // Where the system gives no more threads, fewer do the work.
            let wanted = threads.min(tasks.div_ceil(together.max(1)));
            let start = |_| Builder::new().spawn_scoped(call, || serve(false)).ok();
            let started: Vec<_> = (1..wanted).map_while(start).collect();
            serve(true);
            // The scope waits for their work; this, until they are gone.
            for thread in started {
                if let Err(panic) = thread.join() {
                    resume_unwind(panic);
                }
            }
        });
    });
    match interrupt.into_inner() {
        Ok(Some(error)) => Err(error),
        _ => Ok(()),
    }
}
