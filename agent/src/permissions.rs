//! Whether a tool may be called: rules, hints and a person, in this order.
