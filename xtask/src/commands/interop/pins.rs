//! The versions of everything that comes from a registry. This is the one place to raise them.

/// What npm installs. `node` brings a Node of its own, because the suite needs 22 and systems have older ones.
pub(super) const NPM: [(&str, &str); 4] = [
    ("node", "22.23.3"),
    ("@modelcontextprotocol/conformance", "0.2.0-alpha.12"),
    ("@modelcontextprotocol/sdk", "1.32.2"),
    ("@modelcontextprotocol/client", "2.4.0"),
];

/// What pip installs. It speaks every revision from 2024-11-05 to 2026-07-28.
pub(super) const PIP: [(&str, &str); 1] = [("mcp", "2.3.0")];
