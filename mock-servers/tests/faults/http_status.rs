use serde_json::json;

use super::wire::{answer, fault, plain, repeats};

#[tokio::test]
async fn any_status_comes_with_any_headers_and_any_body() {
    for status in [200_u16, 204, 401, 418, 500, 599] {
        let body = if status == 204 { "" } else { "<h1>é</h1>" };
        let wanted = json!({"http-status": {"status": status, "headers": {"x-test": "yes"}, "body": body}});
        let heard = answer(fault(wanted.clone())).await;
        assert_eq!((heard.status(), heard.text().as_str()), (status, body));
        assert_eq!(heard.header("x-test").as_deref(), Some("yes"));
        repeats(fault(wanted)).await;
    }
    let plain = plain().await;
    assert_eq!((plain.status(), plain.header("x-test")), (200, None));
}
