//! Rounds of a fuzz target until the time is up, each from a seed of its own.
//!
//! `MCP_WORKBENCH_FUZZ_SECONDS` says how long each target runs (2 if it is not set), `MCP_WORKBENCH_FUZZ_SEED` which
//! round to play, alone; a failure prints it. Where no seed is given the first is drawn from the clock, so that each run
//! of the tests sees other inputs.
//!
//! Why no engine of a library: those that are guided by coverage need a nightly toolchain, and the unguided ones mutate
//! bytes, nearly all of which end at the JSON parser. What is mutated here are the messages of the protocol, on the
//! level of values as well as of bytes, and they come in sequences, because the states are where the faults are.

use std::{
    env,
    future::Future,
    io::Write as _,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::{Duration, Instant, SystemTime},
};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const SECONDS: &str = "MCP_WORKBENCH_FUZZ_SECONDS";
const SEED: &str = "MCP_WORKBENCH_FUZZ_SEED";

/// How long a target runs if nobody says.
const USUAL: f64 = 2.0;

/// Plays rounds.
pub(crate) fn play(target: &str, mut round: impl FnMut(&mut ChaCha8Rng)) {
    let mut one = |seed: u64| {
        let played = catch_unwind(AssertUnwindSafe(|| round(&mut ChaCha8Rng::seed_from_u64(seed))));
        if let Err(failure) = played {
            let _ = writeln!(std::io::stderr(), "{target}: {SEED}={seed} plays the round again that failed");
            resume_unwind(failure);
        }
    };
    if let Ok(seed) = env::var(SEED) {
        return one(seed.parse().unwrap_or_else(|_| panic!("{SEED} is a number")));
    }
    let seconds =
        env::var(SECONDS).ok().map_or(USUAL, |text| text.parse().unwrap_or_else(|_| panic!("{SECONDS} is a number")));
    let first = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let (began, limit) = (Instant::now(), Duration::from_secs_f64(seconds));
    let mut played = 0_u64;
    while played == 0 || began.elapsed() < limit {
        one(first.wrapping_add(played));
        played += 1;
    }
    let _ = writeln!(std::io::stderr(), "{target}: {played} rounds from seed {first} on");
}

/// The same for rounds that talk to a server.
pub(crate) fn play_async<F: Future<Output = ()>>(target: &str, mut round: impl FnMut(ChaCha8Rng) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    play(target, |random| runtime.block_on(round(random.clone())));
}
