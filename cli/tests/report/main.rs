//! `report`: formats, comparison and merging of runs.

mod formats;
mod kit;
