//! Switches of the master and their stored values.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use halite_engine::Engine;

use crate::base::call::CallError;

/// On/off switch.
#[derive(Debug)]
pub(crate) struct Switch {
    on: AtomicBool,
    /// Name among the store's settings, for a switch that outlives the process.
    setting: Option<&'static str>,
}

impl Switch {
    /// Creates a switch that is on whenever the process starts.
    const fn passing() -> Self {
        Self { on: AtomicBool::new(true), setting: None }
    }

    /// Creates a switch with its stored value, or on if there is none.
    fn durable(engine: &Engine, setting: &'static str) -> Self {
        let on = engine.property(setting).is_none_or(|value| value[..] != OFF);
        Self { on: AtomicBool::new(on), setting: Some(setting) }
    }

    pub(crate) fn get(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    /// Sets the switch and returns its previous value.
    ///
    /// # Errors
    /// If the value cannot be stored; the switch is then unchanged.
    pub(crate) fn set(&self, engine: &Engine, on: bool) -> Result<bool, CallError> {
        if let Some(setting) = self.setting.filter(|_| on != self.get()) {
            engine.update_properties(|settings| {
                let value = Bytes::from_static(if on { &ON } else { &OFF });
                settings.insert(setting.to_owned(), value);
                Ok(())
            })?;
        }
        Ok(self.on.swap(on, Ordering::AcqRel))
    }
}

const ON: [u8; 1] = [1];
const OFF: [u8; 1] = [0];

/// All switches. Those that HBase keeps across a restart are durable.
#[derive(Debug)]
pub(crate) struct Switches {
    pub(crate) balancer: Switch,
    pub(crate) normalizer: Switch,
    pub(crate) split: Switch,
    pub(crate) merge: Switch,
    pub(crate) catalog_janitor: Switch,
    pub(crate) cleaner: Switch,
    pub(crate) snapshot_cleanup: Switch,
    pub(crate) peer_modification: Switch,
    pub(crate) rpc_throttle: Switch,
}

impl Switches {
    /// Loads the stored values.
    pub(crate) fn load(engine: &Engine) -> Self {
        let switches = Self {
            balancer: Switch::durable(engine, "switch/balancer"),
            normalizer: Switch::durable(engine, "switch/normalizer"),
            split: Switch::durable(engine, "switch/split"),
            merge: Switch::durable(engine, "switch/merge"),
            catalog_janitor: Switch::passing(),
            cleaner: Switch::passing(),
            snapshot_cleanup: Switch::durable(engine, "switch/snapshot-cleanup"),
            peer_modification: Switch::durable(engine, "switch/peer-modification"),
            rpc_throttle: Switch::durable(engine, "switch/rpc-throttle"),
        };
        engine.set_splits_enabled(switches.split.get());
        switches
    }
}
