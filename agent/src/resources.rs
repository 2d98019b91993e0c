//! Resources of several servers at once.
