//! The workbench served to others: as an MCP server that coding agents test their servers with, and as a management API.
