//! Measures several clients in turn. Two clients are compared by the median ratio of adjacent measurements, so that other
//! load of the machine affects both.

use std::time::Duration;

use serde::Serialize;

use super::{
    super::mock::median,
    caller::Figures,
    process::{BenchClient, Load},
};

/// Clients under one load.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) transport: &'static str,
    pub(super) revision: &'static str,
    pub(super) in_flight: usize,
    pub(super) clients: Vec<Client>,
}

/// One client under one load.
#[derive(Debug, Serialize)]
pub(super) struct Client {
    pub(super) name: &'static str,
    /// Calls per second, median of the rounds.
    pub(super) per_second: f64,
    /// CPU time per call in microseconds, median of the rounds.
    pub(super) cpu_us: f64,
    /// Calls per second of the built-in client divided by those of this one, median of the rounds.
    pub(super) speed_ratio: f64,
    /// Minimum of the rounds.
    pub(super) lowest: f64,
    /// Maximum of the rounds.
    pub(super) highest: f64,
    /// CPU time per call of this client divided by that of the built-in one, median of the rounds.
    pub(super) cpu_ratio: f64,
}

impl Row {
    /// The client of this name.
    pub(super) fn client(&self, name: &str) -> Option<&Client> {
        self.clients.iter().find(|client| client.name == name)
    }
}

/// Measures all clients in each round, in rotating order. The first client is the built-in one.
pub(super) fn take(clients: &mut [BenchClient], load: &Load, rounds: usize, each: Duration) -> anyhow::Result<Row> {
    let mut taken: Vec<Vec<Figures>> = clients.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for offset in 0..clients.len() {
            let at = (round + offset) % clients.len();
            taken[at].push(clients[at].call(each)?);
        }
    }
    let clients = clients.iter().zip(&taken).map(|(client, own)| compare(client.name, own, &taken[0])).collect();
    Ok(Row { transport: load.transport(), revision: load.revision, in_flight: load.in_flight, clients })
}

fn compare(name: &'static str, own: &[Figures], builtin: &[Figures]) -> Client {
    let speed = |figures: &Figures| figures.calls as f64 / figures.seconds;
    let cpu = |figures: &Figures| figures.cpu_us / figures.calls as f64;
    let each = |take: &dyn Fn(&Figures) -> f64| median(&mut own.iter().map(take).collect::<Vec<_>>());
    let paired = || own.iter().zip(builtin);
    let mut ratios: Vec<f64> = paired().map(|(own, builtin)| speed(builtin) / speed(own)).collect();
    let mut cpu_ratios: Vec<f64> = paired().map(|(own, builtin)| cpu(own) / cpu(builtin)).collect();
    let extreme = |pick: fn(f64, f64) -> f64| ratios.iter().copied().reduce(pick).unwrap_or(f64::NAN);
    let (lowest, highest) = (extreme(f64::min), extreme(f64::max));
    Client {
        name,
        per_second: each(&speed),
        cpu_us: each(&cpu),
        speed_ratio: median(&mut ratios),
        lowest,
        highest,
        cpu_ratio: median(&mut cpu_ratios),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_adjacent_rounds() {
        let figures = |calls, cpu_us| Figures { calls, seconds: 2.0, cpu_us };
        // The machine is half as fast after the first round, with one outlier.
        let builtin = [figures(400, 4_000.0), figures(200, 2_000.0), figures(200, 2_000.0)];
        let other = [figures(200, 6_000.0), figures(100, 3_000.0), figures(10, 300.0)];
        let compared = compare("other", &other, &builtin);
        assert_eq!((compared.speed_ratio, compared.lowest, compared.highest), (2.0, 2.0, 20.0));
        assert_eq!((compared.per_second, compared.cpu_us, compared.cpu_ratio), (50.0, 30.0, 3.0));
        assert_eq!(compare("builtin", &builtin, &builtin).speed_ratio, 1.0);
    }
}
