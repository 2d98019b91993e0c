use serde_json::json;

use super::*;

fn ping() -> FrameParts {
    FrameParts::received(0, Body::json(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})))
}

#[test]
fn reads_back_what_it_wrote_and_ignores_a_torn_last_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.jsonl");
    let recorder = Recorder::in_memory_and_file("one", &path).unwrap();
    recorder.record(ping());
    recorder.record(FrameParts::event(0, ConnectionEvent::ClosedByPeer));
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"seq\":2,\"at_us\"").unwrap();
    let frames = read_file(&path).unwrap();
    assert_eq!(frames, recorder.frames());
    assert_eq!(frames.iter().map(|frame| frame.seq).collect::<Vec<_>>(), [0, 1]);
    assert!(frames[0].at_us <= frames[1].at_us);
}

#[test]
fn names_the_line_that_is_not_a_frame() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.jsonl");
    std::fs::write(&path, "{}\n").unwrap();
    assert!(matches!(read_file(&path), Err(RecordError::Line { line: 1, .. })));
}

#[tokio::test]
async fn wait_until_wakes_on_a_new_frame() {
    let recorder = Recorder::in_memory("one");
    let waiting = recorder.clone();
    let task = tokio::spawn(async move {
        waiting.wait_until(|frames| frames.iter().any(|frame| frame.method() == Some("ping"))).await;
    });
    recorder.record(ping());
    tokio::time::timeout(std::time::Duration::from_secs(5), task).await.unwrap().unwrap();
}

#[test]
fn a_disabled_recorder_stores_nothing() {
    let recorder = Recorder::disabled();
    recorder.record_with(|| unreachable!("the recorder is disabled"));
    assert!(recorder.frames().is_empty());
}

#[test]
fn stores_no_secret_in_memory_or_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.jsonl");
    let recorder = Recorder::in_memory_and_file("one", &path).unwrap();
    let headers = Arc::new([("cookie".to_owned(), "s3cret".to_owned())].into());
    let body = Body::json(json!({"params": {"access_token": "s3cret"}}));
    recorder.record(FrameParts::received(0, body).with_http(Http { headers, ..Http::default() }));
    recorder.record(FrameParts::sent(0, Body::Text("Bearer s3cret".into())));
    assert_eq!(recorder.frames().len(), 2);
    assert!(!format!("{:?}", recorder.frames()).contains("s3cret"));
    assert!(!std::fs::read_to_string(&path).unwrap().contains("s3cret"));
}

#[test]
fn keeps_the_latest_frames_in_memory_and_all_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.jsonl");
    let recorder = Recorder::latest("mock", 3, Some(&path)).unwrap();
    for number in 0..11 {
        recorder.record(FrameParts::received(number, Body::Event(ConnectionEvent::Opened)));
        let kept = recorder.inspect(|frames| frames.iter().map(|frame| frame.seq).collect::<Vec<_>>());
        assert!(kept.len() <= 6 && kept.len() as u64 >= 3.min(number + 1), "{kept:?}");
        assert_eq!(kept.last(), Some(&number));
    }
    assert_eq!(read_file(&path).unwrap().len(), 11);
    assert_eq!(recorder.dropped(), 0);
}

#[test]
fn a_bounded_read_keeps_the_first_and_the_last_frames() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.jsonl");
    let recorder = Recorder::to_file("mock", &path).unwrap();
    for number in 0..1_000 {
        recorder.record(FrameParts::received(0, Body::json(json!({ "number": number }))));
    }
    let all = read_file(&path).unwrap();
    let line = serde_json::to_vec(&all[0]).unwrap().len() as u64 + 1;
    let read = read_bounded(&path, 100 * line, usize::MAX).unwrap();
    let kept = read.frames.len();
    assert!(kept < 100 + LAST_FRAMES + 1 && kept > LAST_FRAMES + 50, "{kept}");
    assert_eq!(kept as u64 + read.omitted, 1_000);
    assert_eq!(read.frames[..50], all[..50]);
    assert_eq!(read.frames.last(), all.last());
    assert_eq!(read_bounded(&path, u64::MAX, 10).unwrap().frames.len(), 10 + LAST_FRAMES);
}

#[test]
fn a_bounded_file_stops_at_its_limit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.jsonl");
    let recorder = Recorder::to_bounded_file("mock", &path, 2_000).unwrap();
    for number in 0..1_000 {
        recorder.record(FrameParts::received(0, Body::json(json!({ "number": number }))));
    }
    assert!(std::fs::metadata(&path).unwrap().len() <= 2_000);
    assert!(!read_file(&path).unwrap().is_empty());
}
