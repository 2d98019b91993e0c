//! The raw driver against mock servers.
