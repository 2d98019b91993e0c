//! Very many clients at once.

use std::{io::Write as _, thread};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    peer::Peer,
    server::{Server, call},
};

const CROWD: usize = 10_000;
/// How many of them connect at the same time.
const SIDES: usize = 50;

#[test]
fn ten_thousand_connections_keep_nobody_from_being_served() {
    // The server's process gets the same limit, and each of them needs one descriptor for each connection.
    if !allow_files(CROWD as u64 + 500) {
        let _ = writeln!(std::io::stderr(), "SKIPPED: the system allows too few open files for {CROWD} connections");
        return;
    }
    let server = Server::modern();
    // Each asks, and nobody reads before all have asked. They come from many sides, as clients do.
    let arrive = || {
        let peers = (0..CROWD / SIDES).map(|_| {
            let mut peer = server.connect();
            peer.send(&call("crowd")).unwrap();
            peer
        });
        peers.collect::<Vec<Peer>>()
    };
    let mut crowd: Vec<Peer> = thread::scope(|scope| {
        let sides: Vec<_> = (0..SIDES).map(|_| scope.spawn(arrive)).collect();
        server.serves_others();
        sides.into_iter().flat_map(|side| side.join().unwrap()).collect()
    });
    assert_eq!(crowd.len(), CROWD);
    server.serves_others();
    server.holds_at_most(350);
    for peer in &mut crowd {
        assert_eq!(peer.reply().expect("everybody is answered").status, 200);
    }
    drop(crowd);
    server.serves_others();
}

/// Raises the limit of open files, and says whether it is high enough.
fn allow_files(wanted: u64) -> bool {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return true;
    }
    let raised = Rlimit { current: Some(wanted), ..limit };
    limit.maximum.is_none_or(|most| most >= wanted) && setrlimit(Resource::Nofile, raised).is_ok()
}
