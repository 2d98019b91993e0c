//! The switch of the server's faults.

use super::hub::Hub;
use crate::{faults::FaultState, listen::switch::Switchboard};

impl Switchboard for Hub {
    fn switch(&self, name: &str, enabled: bool) -> bool {
        self.lock().engine.switch(name, enabled)
    }

    fn faults(&self) -> Vec<FaultState> {
        self.lock().engine.faults()
    }

    fn reset(&self) {
        self.lock().engine.reset();
    }
}
