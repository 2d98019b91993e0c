//! How much of a result reaches a model: the rest is kept on disk, and that is said.
