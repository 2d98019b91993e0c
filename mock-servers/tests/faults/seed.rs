//! The same seed gives the same bytes, with every fault and over every transport.

use super::{
    table::{Row, Talk, TestTransport, rows},
    talk::{Bytes, Talking},
    wire::SEED,
};

impl Row {
    async fn heard(&self, front: TestTransport, seed: u64) -> Bytes {
        let (talk, _) = self.talk(front);
        Talking { front, talk, fault: Some(&self.sample), streamed: self.is_streamed(), seed }.heard().await
    }

    /// The same without the fault.
    async fn plain(&self, front: TestTransport) -> Bytes {
        Talking { front, talk: Talk::Calls, fault: None, streamed: self.is_streamed(), seed: SEED }.heard().await
    }
}

async fn the_same_seed_gives_the_same_bytes(front: TestTransport) {
    for row in rows() {
        let what = format!("{} over {front:?}", row.fault.name());
        let first = row.heard(front, SEED).await;
        assert!(!first.text().is_empty(), "{what}");
        let again = row.heard(front, SEED).await;
        assert!(again.without_ports() == first.without_ports(), "{what}: {}\n{}", first.text(), again.text());
        let mut others = 0;
        for seed in 100..120 {
            others += usize::from(row.heard(front, seed).await.without_sessions() != first.without_sessions());
            // What is not drawn is the same with every seed; two of them are enough to see that.
            if others > 0 || (!row.is_drawn(front) && seed > 100) {
                break;
            }
        }
        assert_eq!(others > 0, row.is_drawn(front), "{what}: whether another seed gives other bytes");
        if !row.talk(front).1 {
            let plain = row.plain(front).await;
            assert!(first.without_ports() == plain.without_ports(), "{what} is observable: {}", first.text());
        }
    }
}

#[tokio::test]
async fn over_streamable_http() {
    the_same_seed_gives_the_same_bytes(TestTransport::Http).await;
}

#[tokio::test]
async fn over_stdio() {
    the_same_seed_gives_the_same_bytes(TestTransport::Stdio).await;
}

#[tokio::test]
async fn over_http_and_sse() {
    the_same_seed_gives_the_same_bytes(TestTransport::Sse).await;
}
