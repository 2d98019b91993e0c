//! `report`: formats, comparison and merging of runs.

mod diff;
mod formats;
mod kit;
mod merge;
