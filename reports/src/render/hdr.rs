//! The latencies of load tests as an HdrHistogram log, which many tools merge, compare and plot.

use std::time::Duration;

use hdrhistogram::serialization::{
    V2DeflateSerializer,
    interval_log::{IntervalLogWriterBuilder, Tag},
};

use super::{Format, RenderError, Style, text};
use crate::{histogram_log, model::Run};

/// One histogram per load test, in microseconds.
#[derive(Debug)]
pub struct Hdr;

impl Format for Hdr {
    fn name(&self) -> &'static str {
        "hdr"
    }

    fn about(&self) -> &'static str {
        "The latencies of load tests, as a log of HdrHistogram"
    }

    fn file_name(&self) -> &'static str {
        "latency.hlog"
    }

    fn render(&self, run: &Run, _: &Style) -> Result<String, RenderError> {
        let mut serializer = V2DeflateSerializer::new();
        let mut out = Vec::new();
        let mut builder = IntervalLogWriterBuilder::new();
        builder.add_comment("latencies in microseconds, from the scheduled time of each call");
        let mut log =
            builder.begin_log_with(&mut out, &mut serializer).map_err(|error| RenderError::new(self, error))?;
        for load in &run.loads {
            let histogram = histogram_log::histogram(&load.histogram);
            // A tag has no blanks, commas and line ends.
            let name: String = text::bounded_line(&load.name, 200);
            let name: String = name.chars().map(|ch| if ch.is_whitespace() || ch == ',' { '_' } else { ch }).collect();
            let counted = Duration::from_millis(load.counted_ms);
            log.write_histogram(&histogram, Duration::ZERO, counted, Tag::new(&name))
                .map_err(|error| RenderError::new(self, std::io::Error::other(format!("{error:?}"))))?;
        }
        drop(log);
        String::from_utf8(out).map_err(|error| RenderError::new(self, error))
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use hdrhistogram::{
        Histogram,
        serialization::{
            Deserializer,
            interval_log::{IntervalLogIterator, LogEntry},
        },
    };

    use super::*;
    use crate::sample;

    #[test]
    fn a_reader_finds_the_same_latencies() {
        let mut run = sample::run(vec![]);
        run.loads = vec![sample::load()];
        let text = Hdr.render(&run, &Style::default()).unwrap();
        let entries: Vec<LogEntry<'_>> = IntervalLogIterator::new(text.as_bytes()).map(Result::unwrap).collect();
        let [LogEntry::Interval(interval)] = entries.as_slice() else { panic!("{entries:?}") };
        assert_eq!(interval.tag().map(|tag| tag.as_str().to_owned()).as_deref(), Some("tools/call_echo"));
        let bytes = base64::engine::general_purpose::STANDARD.decode(interval.encoded_histogram()).unwrap();
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!((read.len(), read.count_at(1_400), read.count_at(812)), (190, 189, 1));
    }
}
