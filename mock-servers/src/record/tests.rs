//! What the recorder promises.

use serde_json::json;

use super::*;

fn ping() -> Sighting {
    Sighting::received(0, Body::Json(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})))
}

#[test]
fn reads_back_what_it_wrote_and_ignores_a_torn_last_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.jsonl");
    let recorder = Recorder::in_memory_and_file("one", &path).unwrap();
    recorder.record(ping());
    recorder.record(Sighting::mark(0, Mark::ClosedByPeer));
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"seq\":2,\"at_us\"").unwrap();
    let frames = read_file(&path).unwrap();
    assert_eq!(frames, recorder.frames());
    assert_eq!(frames.iter().map(|frame| frame.seq).collect::<Vec<_>>(), [0, 1]);
    assert!(frames[0].at_us <= frames[1].at_us);
}

#[test]
fn names_the_line_that_is_no_frame() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.jsonl");
    std::fs::write(&path, "{}\n").unwrap();
    assert!(matches!(read_file(&path), Err(RecordError::Line { line: 1, .. })));
}

#[tokio::test]
async fn wakes_who_waits_for_a_frame() {
    let recorder = Recorder::in_memory("one");
    let waiting = recorder.clone();
    let task = tokio::spawn(async move {
        waiting.wait_until(|frames| frames.iter().any(|frame| frame.method() == Some("ping"))).await;
    });
    recorder.record(ping());
    tokio::time::timeout(std::time::Duration::from_secs(5), task).await.unwrap().unwrap();
}

#[test]
fn a_disabled_recorder_makes_no_frames() {
    let recorder = Recorder::disabled();
    recorder.record_with(|| unreachable!("nobody keeps it"));
    assert!(recorder.frames().is_empty());
}

#[test]
fn keeps_no_secret_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.jsonl");
    let recorder = Recorder::in_memory_and_file("one", &path).unwrap();
    let headers = [("cookie".to_owned(), "s3cret".to_owned())].into();
    let body = Body::Json(json!({"params": {"access_token": "s3cret"}}));
    recorder.record(Sighting::received(0, body).with_http(Http { headers, ..Http::default() }));
    recorder.record(Sighting::sent(0, Body::Text("Bearer s3cret".into())));
    assert_eq!(recorder.frames().len(), 2);
    assert!(!format!("{:?}", recorder.frames()).contains("s3cret"));
    assert!(!std::fs::read_to_string(&path).unwrap().contains("s3cret"));
}

#[test]
fn the_latest_frames_stay_and_the_file_gets_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.jsonl");
    let recorder = Recorder::latest("mock", 3, Some(&path)).unwrap();
    for number in 0..11 {
        recorder.record(Sighting::received(number, Body::Mark(Mark::Opened)));
        let kept = recorder.inspect(|frames| frames.iter().map(|frame| frame.seq).collect::<Vec<_>>());
        assert!(kept.len() <= 6 && kept.len() as u64 >= 3.min(number + 1), "{kept:?}");
        assert_eq!(kept.last(), Some(&number));
    }
    assert_eq!(read_file(&path).unwrap().len(), 11);
    assert_eq!(recorder.dropped(), 0);
}
