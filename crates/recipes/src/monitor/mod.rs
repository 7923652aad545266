//! Monitoring: samples of hosts, read by host and by metric, from two tables or from one.
//!
//! The application is `examples/monitor`; `design.rs` is the interface that the check uses.

mod application;
mod design;
mod flights;
mod generator;
mod verify;

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;

pub use design::Design;
pub use flights::Flights;
pub use generator::Generator;

use crate::recipe::{About, Application, Load, Recipe, Site};
use application::MonitorApplication;

/// Recipe of monitoring.
pub struct MonitorRecipe {
    /// Opens the design on the tables of a namespace.
    pub design: fn(&Site) -> Result<Box<dyn Design>>,
    /// Real events instead of generated samples.
    pub flights: Option<Arc<Flights>>,
}

/// The recipe with the design of `examples/monitor`.
pub static MONITOR: MonitorRecipe = MonitorRecipe { design: design::monitor, flights: None };

static ABOUT: About = About {
    name: "monitor",
    namespace: "monitor",
    shows: "measurements by host and by metric: two tables that are written together and repaired, \
            beside a scan of the first one alone; a quarter of an hour is a row",
    items: "samples",
    default_items: 500_000,
    default_rate: 1_000,
    operations: &["write of 20", "host", "metric", "metric by host"],
};

static ABOUT_FLIGHTS: About = About { namespace: "monitor_flights", ..ABOUT };

impl Recipe for MonitorRecipe {
    fn about(&self) -> &'static About {
        if self.flights.is_some() { &ABOUT_FLIGHTS } else { &ABOUT }
    }

    fn default_items(&self) -> u64 {
        self.flights.as_ref().map_or(ABOUT.default_items, |flights| flights.source.items())
    }

    fn with_data(&self, path: &Path) -> Result<Box<dyn Recipe>> {
        let flights = Some(Arc::new(Flights::read(path)?));
        Ok(Box::new(Self { design: self.design, flights }))
    }

    fn data_digest(&self) -> u64 {
        self.flights.as_ref().map_or(0, |flights| flights.source.digest())
    }

    fn statements(&self) -> &'static str {
        monitor::TABLES
    }

    fn open(&self, site: &Site, load: Load) -> Result<Box<dyn Application>> {
        let generator = Generator::new(load, self.flights.clone());
        Ok(Box::new(MonitorApplication::new((self.design)(site)?, generator)))
    }
}
