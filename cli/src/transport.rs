//! `--transport`: one value type for all commands.

use std::fmt;

use clap::{ValueEnum, builder::PossibleValue};
use scenarios::model::Transport;

/// A transport, as `--transport` takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TransportArg(pub(crate) Transport);

impl TransportArg {
    /// The name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        self.0.as_str()
    }
}

impl ValueEnum for TransportArg {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self(Transport::Stdio), Self(Transport::StreamableHttp), Self(Transport::HttpSse)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let value = PossibleValue::new(self.name());
        Some(match self.0 {
            Transport::Stdio => value.help("Standard input and output"),
            Transport::StreamableHttp => value.help("Streamable HTTP").alias("http"),
            Transport::HttpSse => value.help("HTTP+SSE (2024-11-05)").alias("http-sse"),
        })
    }
}

impl fmt::Display for TransportArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_short_names_as_aliases() {
        for (text, expected) in [("stdio", "stdio"), ("http", "streamable-http"), ("http-sse", "sse")] {
            assert_eq!(TransportArg::from_str(text, false).map(TransportArg::name).as_deref(), Ok(expected));
        }
        assert!(TransportArg::from_str("websocket", false).is_err());
    }
}
