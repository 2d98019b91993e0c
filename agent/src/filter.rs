//! What of a result a model can take: what it cannot is replaced by words.
