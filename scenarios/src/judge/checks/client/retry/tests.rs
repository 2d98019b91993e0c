use crate::{
    judge::checks::testing::{Story, blocked, broken, call, held, silent},
    model::Revision,
};

fn refused() -> Story {
    Story::http(Revision::V2025_11_25).greet().client(call(1, "x")).status(429).with("retry-after", "2")
}

#[test]
fn nobody_comes_back_early() {
    let id = "waits-as-asked";
    held(id, refused());
    held(id, refused().wait(2_000).client(call(2, "x")));
    held(id, refused().client(call(2, "another")));
    broken(id, refused().wait(1_000).client(call(2, "x")), "2000 ms");
    broken(id, refused().client(call(1, "x")).wait(9_000).client(call(1, "x")), "put off");
    let hour = Story::http(Revision::V2025_11_25).greet().client(call(1, "x")).status(503).with("retry-after", "soon");
    blocked(id, hour);
    silent(id, Story::stdio(Revision::V2025_11_25).greet());
}
