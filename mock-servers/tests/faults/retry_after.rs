use serde_json::json;

use super::wire::{answer, fault, plain, repeats};

#[tokio::test]
async fn the_client_is_told_when_to_come_back() {
    for (given, status, value) in [
        (json!({}), 429, "1"),
        (json!({"status": 503, "value": "Wed, 21 Oct 2015 07:28:00 GMT"}), 503, "Wed, 21 Oct 2015 07:28:00 GMT"),
        (json!({"value": "-1"}), 429, "-1"),
    ] {
        let heard = answer(fault(json!({"retry-after": given.clone()}))).await;
        assert_eq!((heard.status(), heard.header("retry-after").as_deref()), (status, Some(value)));
        repeats(fault(json!({"retry-after": given}))).await;
    }
    assert_eq!(plain().await.header("retry-after"), None);
}
