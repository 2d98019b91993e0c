//! Each fault on the wire: raw bytes over real sockets and from a real process, beside the same talk without the fault.
//!
//! One file a fault. [`wire`] and [`process`] are the clients, which take bytes as they come.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod faults {
    mod process;
    mod seed;
    mod table;
    mod talk;
    mod wire;

    mod bad_retry;
    mod both_result_and_error;
    mod byte_order_mark;
    mod close;
    mod coalesce;
    mod deep_nesting;
    mod delay;
    mod disconnect;
    mod duplicate;
    mod event_stream;
    mod exit;
    mod float_id;
    mod fragment;
    mod garbage;
    mod grandchild;
    mod http_status;
    mod ignore_sigterm;
    mod invalid_utf8;
    mod late_reply;
    mod latency;
    mod line_ends;
    mod log_lines;
    mod malformed_json;
    mod neither_result_nor_error;
    mod no_event_id;
    mod notification_flood;
    mod null_id;
    mod oversize;
    mod presets;
    mod redirect;
    mod reorder;
    mod retry_after;
    mod session_expiry;
    mod silence;
    mod slow_drip;
    mod standing;
    mod stderr_flood;
    mod stream_error;
    mod string_id;
    mod truncate;
    mod unknown_fields;
    mod wrong_content_type;
    mod wrong_id;
}

use std::path::Path;

use mcp_workbench_mock_servers::faults::Fault;
use serde_json::Value;

/// The names of all faults, as the schema of the format has them.
fn names() -> Vec<String> {
    let schema = serde_json::to_value(schemars::schema_for!(Fault)).unwrap();
    let variants = schema["oneOf"].as_array().unwrap();
    let name_of = |variant: &Value| {
        let tagged = variant["required"][0].as_str().or_else(|| variant["const"].as_str());
        tagged.map(|name| vec![name.to_owned()]).unwrap_or_else(|| {
            let plain = variant["enum"].as_array().unwrap();
            plain.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
        })
    };
    variants.iter().flat_map(name_of).collect()
}

#[test]
fn every_fault_has_its_file_and_its_test() {
    let names = names();
    assert!(names.len() >= 40, "{names:?}");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let this = include_str!("faults.rs");
    for name in names {
        let name = name.replace('-', "_");
        assert!(here.join(format!("src/faults/{name}.rs")).is_file(), "no file for {name}");
        let tested = std::fs::read_to_string(here.join(format!("tests/faults/{name}.rs")));
        assert!(tested.is_ok_and(|text| text.contains("test]\n")), "no test for {name}");
        assert!(this.contains(&format!("    mod {name};")), "the test of {name} is not run");
    }
}
