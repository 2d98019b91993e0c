//! What the authors of broken scripts are told.

mod golden;
mod hostile;
