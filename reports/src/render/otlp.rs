//! The results of a run as an OTLP/JSON request with metrics, which a collector of OpenTelemetry takes at `/v1/metrics`
//! (OTLP 1.x, `ExportMetricsServiceRequest`; 64-bit integers are strings).

use std::time::UNIX_EPOCH;

use serde_json::{Value as Json, json};

use super::{
    Format, RenderError, Style,
    metrics::{self, Distribution, Family, Kind, Value},
};
use crate::model::Run;

/// Values since the start of a run.
const CUMULATIVE: u8 = 2;

/// All metrics of a run. Their names have the prefix `mcp_workbench.`.
#[derive(Debug)]
pub struct Otlp;

impl Format for Otlp {
    fn name(&self) -> &'static str {
        "otlp"
    }

    fn about(&self) -> &'static str {
        "Metrics of a finished run for a collector of OpenTelemetry, as OTLP/JSON"
    }

    fn file_name(&self) -> &'static str {
        "metrics.otlp.json"
    }

    fn render(&self, run: &Run, _: &Style) -> Result<String, RenderError> {
        let start = nanoseconds(&run.header.started);
        let end = start.map(|start| start + u128::from(run.elapsed_ms) * 1_000_000);
        let times = [start, end].map(|time| time.unwrap_or_default().to_string());
        let metrics: Vec<Json> = metrics::collect(run).iter().map(|family| metric(family, &times)).collect();
        let resource = [("service.name", "mcp-workbench"), ("service.version", &run.header.workbench)];
        let attributes = resource.into_iter().chain([("mcp_workbench.subject", run.header.subject.as_str())]);
        let document = json!({ "resourceMetrics": [{
            "resource": { "attributes": attributes.map(attribute).collect::<Vec<Json>>() },
            "scopeMetrics": [{
                "scope": { "name": "mcp-workbench", "version": run.header.workbench },
                "metrics": metrics,
            }],
        }] });
        Ok(format!("{document}\n"))
    }
}

/// The time in nanoseconds since 1970. `None` for an invalid time, as in a report that was edited.
fn nanoseconds(time: &str) -> Option<u128> {
    let since = humantime::parse_rfc3339(time).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(since.as_nanos())
}

fn metric(family: &Family, times: &[String; 2]) -> Json {
    let points: Vec<Json> = family
        .samples
        .iter()
        .map(|sample| {
            let mut point = match &sample.value {
                Value::Number(number) => json!({ "asDouble": number }),
                Value::Distribution(distribution) => histogram(distribution),
            };
            point["attributes"] = sample.labels.iter().map(|(name, value)| attribute((name, value))).collect();
            point["startTimeUnixNano"] = times[0].clone().into();
            point["timeUnixNano"] = times[1].clone().into();
            point
        })
        .collect();
    let data = match family.kind {
        Kind::Gauge => ("gauge", json!({ "dataPoints": points })),
        Kind::Counter => {
            ("sum", json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": true }))
        }
        Kind::Histogram => ("histogram", json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE })),
    };
    let unit = if family.name.ends_with("_seconds") { "s" } else { "1" };
    let name = format!("mcp_workbench.{}", family.name);
    let mut metric = json!({ "name": name, "description": family.help, "unit": unit });
    metric[data.0] = data.1;
    metric
}

/// Buckets have the number of values between two limits, and the last one those above all limits.
fn histogram(distribution: &Distribution) -> Json {
    let up_to: Vec<u64> = distribution.buckets.iter().map(|(_, count)| *count).chain([distribution.count]).collect();
    let before = [0].into_iter().chain(up_to.iter().copied());
    let counts: Vec<String> = up_to.iter().zip(before).map(|(count, before)| (count - before).to_string()).collect();
    let limits: Vec<f64> = distribution.buckets.iter().map(|(limit, _)| *limit).collect();
    json!({
        "count": distribution.count.to_string(),
        "sum": distribution.sum,
        "bucketCounts": counts,
        "explicitBounds": limits,
    })
}

fn attribute((name, value): (&str, &str)) -> Json {
    json!({ "key": name, "value": { "stringValue": value } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn rendered(run: &Run) -> Json {
        serde_json::from_str(&Otlp.render(run, &Style::default()).unwrap()).unwrap()
    }

    fn metrics(document: &Json) -> Vec<&Json> {
        document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap().iter().collect()
    }

    fn named<'a>(document: &'a Json, name: &str) -> &'a Json {
        metrics(document).into_iter().find(|metric| metric["name"] == name).unwrap()
    }

    #[test]
    fn every_metric_has_one_kind_of_points_with_times_and_attributes() {
        let document = rendered(&sample::everything());
        for metric in metrics(&document) {
            let kinds: Vec<&Json> = ["gauge", "sum", "histogram"].iter().filter_map(|kind| metric.get(kind)).collect();
            assert_eq!(kinds.len(), 1, "{metric}");
            for point in kinds[0]["dataPoints"].as_array().unwrap() {
                let [start, end] = ["startTimeUnixNano", "timeUnixNano"]
                    .map(|time| point[time].as_str().unwrap().parse::<u128>().unwrap());
                assert!(start > 1_600_000_000_000_000_000 && end >= start, "{point}");
                assert!(point["attributes"].is_array(), "{point}");
            }
        }
    }

    #[test]
    fn the_buckets_of_a_histogram_have_all_values_once() {
        let document = rendered(&sample::everything());
        let point = &named(&document, "mcp_workbench.load_latency_seconds")["histogram"]["dataPoints"][0];
        let counts: Vec<u64> = point["bucketCounts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|count| count.as_str().unwrap().parse().unwrap())
            .collect();
        let total: u64 = point["count"].as_str().unwrap().parse().unwrap();
        assert!(total > 0, "{point}");
        assert_eq!(
            (counts.iter().sum::<u64>(), counts.len()),
            (total, point["explicitBounds"].as_array().unwrap().len() + 1)
        );
    }

    #[test]
    fn an_edited_start_time_is_no_error() {
        let mut run = sample::everything();
        run.header.started = "yesterday".to_owned();
        let point = &rendered(&run)["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]["gauge"]["dataPoints"][0];
        assert_eq!(point["timeUnixNano"], "0");
    }
}
