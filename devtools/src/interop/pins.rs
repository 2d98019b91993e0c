//! The versions of everything that comes from a registry. This is the one place to raise them.

/// What npm installs. `node` brings a Node of its own, because the suite needs 22 and systems have older ones.
pub(super) const NPM: [(&str, &str); 9] = [
    ("node", "22.23.3"),
    ("@modelcontextprotocol/conformance", "0.2.0-alpha.12"),
    ("@modelcontextprotocol/sdk", "1.32.2"),
    ("@modelcontextprotocol/client", "2.4.0"),
    ("@modelcontextprotocol/server", "2.4.0"),
    ("@modelcontextprotocol/node", "2.1.2"),
    ("@modelcontextprotocol/server-everything", "2026.8.31"),
    ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
    ("@modelcontextprotocol/server-memory", "2026.8.31"),
];

/// What pip installs. The SDK, `mcp`, speaks every revision from 2024-11-05 to 2026-07-28.
pub(super) const PIP: [(&str, &str); 4] = [
    ("mcp", "2.3.0"),
    ("mcp-server-time", "2026.10.19"),
    ("mcp-server-fetch", "2026.10.24"),
    ("mcp-server-git", "2026.10.19"),
];
