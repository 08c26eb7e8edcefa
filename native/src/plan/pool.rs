//! Threads for one call: none before it, none after it.

use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Builder, current, park_timeout, scope};
use std::time::{Duration, Instant};

/// How often the calling thread looks whether it is interrupted.
const PULSE: Duration = Duration::from_millis(40);

/// How many cores this process may use.
pub fn cores() -> usize {
    allowed().unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

#[cfg(target_os = "linux")]
fn allowed() -> Option<usize> {
    // SAFETY: plain bits, all of which may be 0.
    let mut cores: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: room for the set, and its true size. It fails if there are more than fit into the set.
    let found = unsafe { libc::sched_getaffinity(0, size_of_val(&cores), &mut cores) };
    // SAFETY: a set.
    (found == 0).then(|| usize::try_from(unsafe { libc::CPU_COUNT(&cores) }).unwrap_or(1))
}

#[cfg(not(target_os = "linux"))]
fn allowed() -> Option<usize> {
    None
}

/// Tasks of so many bytes may take longer than is waited for an interrupt.
const LONG: usize = 8 << 20;

/// The tasks of one call.
pub struct Tasks<'a> {
    pub threads: usize,
    pub count: usize,
    /// How many a thread takes at once.
    pub together: usize,
    /// What one takes, in bytes that could be decoded meanwhile.
    pub bytes: usize,
    /// The call was interrupted: long tasks look at this and end, with or without a result.
    pub stopped: &'a AtomicBool,
}

/// Call `work(state, task)` for all tasks, on several threads, with the GIL released. Each thread
/// has a `state()` of its own. `check` is called now and then by the calling thread; what it
/// raises, or a signal, ends the call. While tasks are long the calling thread does nothing else,
/// so that no signal handler ever runs in the middle of one.
pub fn run<S>(
    py: Python<'_>,
    tasks: &Tasks<'_>,
    check: &Bound<'_, PyAny>,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) + Sync,
) -> PyResult<()> {
    let &Tasks { count, stopped, .. } = tasks;
    if count == 0 {
        return Ok(());
    }
    let next = AtomicUsize::new(0);
    let interrupt: Mutex<Option<PyErr>> = Mutex::new(None);
    let check = check.clone().unbind();
    let pulse = || {
        let found = Python::attach(|py| {
            py.check_signals()?;
            check.call0(py).map(drop)
        });
        let Err(error) = found else { return };
        stopped.store(true, Ordering::Relaxed);
        if let Ok(mut interrupt) = interrupt.lock() {
            *interrupt = Some(error);
        }
    };
    let going = || !stopped.load(Ordering::Relaxed);
    let serve = |calling: bool| {
        let mut own = state();
        let mut last = Instant::now();
        while going() {
            let first = next.fetch_add(tasks.together, Ordering::Relaxed);
            if first >= count {
                break;
            }
            for task in first..count.min(first.saturating_add(tasks.together)) {
                work(&mut own, task);
                // Behind the last one the interpreter looks for signals by itself.
                if calling && task + 1 < count && last.elapsed() > PULSE {
                    pulse();
                    last = Instant::now();
                }
                if !going() {
                    break;
                }
            }
        }
    };
    let wanted = tasks.threads.min(count.div_ceil(tasks.together.max(1)));
    let long = tasks.bytes >= LONG;
    py.detach(|| {
        if wanted < 2 && !long {
            serve(true);
            return;
        }
        let (caller, working) = (current(), AtomicUsize::new(0));
        scope(|call| {
            // Where the system gives no more threads, fewer do the work.
            let start = |_| {
                working.fetch_add(1, Ordering::Relaxed);
                let work = || {
                    serve(false);
                    working.fetch_sub(1, Ordering::Release);
                    caller.unpark();
                };
                Builder::new().spawn_scoped(call, work).ok()
            };
            let started: Vec<_> = (usize::from(!long)..wanted).map_while(start).collect();
            if !long || started.is_empty() {
                serve(true);
            }
            // A thread that could not be started, or panics, is never done: but then it is finished.
            let mut last = Instant::now();
            while working.load(Ordering::Acquire) > 0
                && going()
                && started.iter().any(|thread| !thread.is_finished())
            {
                park_timeout(PULSE);
                if last.elapsed() >= PULSE {
                    pulse();
                    last = Instant::now();
                }
            }
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
