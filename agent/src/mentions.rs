//! Resources that a text mentions as `@server:uri`.
