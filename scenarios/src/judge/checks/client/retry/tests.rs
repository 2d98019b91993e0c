use crate::{
    judge::checks::testing::{EvidenceBuilder, blocked, call, fails, not_applicable, passes},
    model::Revision,
};

fn refused() -> EvidenceBuilder {
    EvidenceBuilder::http(Revision::V2025_11_25).greet().client(call(1, "x")).status(429).with("retry-after", "2")
}

#[test]
fn nobody_comes_back_early() {
    let id = "waits-as-asked";
    passes(id, refused());
    passes(id, refused().wait(2_000).client(call(2, "x")));
    passes(id, refused().client(call(2, "another")));
    fails(id, refused().wait(1_000).client(call(2, "x")), "2000 ms");
    fails(id, refused().client(call(1, "x")).wait(9_000).client(call(1, "x")), "instead of");
    let hour = EvidenceBuilder::http(Revision::V2025_11_25)
        .greet()
        .client(call(1, "x"))
        .status(503)
        .with("retry-after", "soon");
    blocked(id, hour);
    not_applicable(id, EvidenceBuilder::stdio(Revision::V2025_11_25).greet());
}
