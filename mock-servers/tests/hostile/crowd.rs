//! Very many clients at once.

use std::io::Write as _;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    peer::Peer,
    server::{Server, call},
};

const CROWD: usize = 10_000;

#[test]
fn ten_thousand_connections_keep_nobody_from_being_served() {
    // The server's process gets the same limit, and each of them needs one descriptor for each connection.
    if !allow_files(CROWD as u64 + 500) {
        let _ = writeln!(std::io::stderr(), "SKIPPED: the system allows too few open files for {CROWD} connections");
        return;
    }
    let server = Server::modern();
    let mut crowd: Vec<Peer> = Vec::with_capacity(CROWD);
    for at in 0..CROWD {
        crowd.push(server.connect());
        if at % 1_000 == 0 {
            server.serves_others();
        }
    }
    server.serves_others();
    server.holds_at_most(250);
    // All of them ask before any of them reads.
    let request = call("crowd");
    for peer in &mut crowd {
        peer.send(&request).unwrap();
    }
    for peer in &mut crowd {
        assert_eq!(peer.reply().expect("everybody is answered").status, 200);
    }
    server.holds_at_most(350);
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
