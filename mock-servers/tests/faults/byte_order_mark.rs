use super::{
    process,
    wire::{answer, fault, plain, repeats},
};

const MARK: &[u8] = &[0xef, 0xbb, 0xbf];

#[tokio::test]
async fn the_json_begins_with_the_mark() {
    let body = answer(fault("byte-order-mark")).await.body();
    assert_eq!(body, [MARK, &plain().await.body()].concat());
    repeats(fault("byte-order-mark")).await;
}

#[test]
fn a_line_begins_with_the_mark() {
    let line = process::answer(fault("byte-order-mark"));
    assert_eq!(line, [MARK, &process::answer("default")].concat());
}
