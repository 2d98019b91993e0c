//! Which servers there are: read from TOML and JSON files of several scopes, expanded, and edited without loss.
