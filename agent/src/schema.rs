//! JSON Schemas of tools as model providers accept them.
