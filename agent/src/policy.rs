//! Which servers an administrator allows.
