//! Versions of all packages from the registries.

/// Packages of npm. `node` installs Node.js 22, which the suite needs.
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

/// Packages of pip. The SDK `mcp` supports all revisions from 2024-11-05 to 2026-07-28.
pub(super) const PIP: [(&str, &str); 5] = [
    ("locust", "2.47.0"),
    ("mcp", "2.3.0"),
    ("mcp-server-time", "2026.10.19"),
    ("mcp-server-fetch", "2026.10.24"),
    ("mcp-server-git", "2026.10.19"),
];
