use super::wire::{answer, fault, plain, repeats};

#[tokio::test]
async fn the_id_is_the_right_one_as_text() {
    let mut answered = answer(fault("string-id")).await.json();
    assert_eq!(answered["id"], "1");
    answered["id"] = 1.into();
    assert_eq!(answered, plain().await.json());
    repeats(fault("string-id")).await;
}
