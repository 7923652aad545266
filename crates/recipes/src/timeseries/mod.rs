//! Sensors: readings of devices, the points of an hour packed into one cell.
//!
//! The application is `examples/timeseries`; `design.rs` is the interface that the check uses.

mod application;
mod design;
mod generator;
mod load;
mod sizes;
mod values;
mod verify;
mod weather;

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;

pub use design::Design;
pub use generator::Generator;
pub use values::{VALUE_MODELS, ValueModel};
pub use weather::Weather;

use crate::recipe::{About, Application, Load, Recipe, Site};
use application::TimeseriesApplication;

/// Recipe of sensors.
pub struct TimeseriesRecipe {
    /// Opens the design on the tables of a namespace.
    pub design: fn(&Site) -> Result<Box<dyn Design>>,
    /// Real readings instead of generated ones.
    pub weather: Option<Arc<Weather>>,
}

/// The recipe with the design of `examples/timeseries`.
pub static TIMESERIES: TimeseriesRecipe =
    TimeseriesRecipe { design: design::sensors, weather: None };

static ABOUT: About = About {
    name: "timeseries",
    namespace: "timeseries",
    shows: "sensors: a row for each device and hour, newest first, its points packed into one cell \
            that takes about a byte for each; late and corrected points, and queries of all devices",
    items: "readings",
    default_items: 1_000_000,
    default_rate: 1_030,
    operations: &["write of 100", "latest", "day", "averages", "all devices"],
};

static ABOUT_WEATHER: About = About { namespace: "timeseries_weather", ..ABOUT };

impl Recipe for TimeseriesRecipe {
    fn about(&self) -> &'static About {
        if self.weather.is_some() { &ABOUT_WEATHER } else { &ABOUT }
    }

    fn default_items(&self) -> u64 {
        self.weather.as_ref().map_or(ABOUT.default_items, |weather| weather.source.items())
    }

    fn with_data(&self, path: &Path) -> Result<Box<dyn Recipe>> {
        let weather = Some(Arc::new(Weather::read(path)?));
        Ok(Box::new(Self { design: self.design, weather }))
    }

    fn data_digest(&self) -> u64 {
        self.weather.as_ref().map_or(0, |weather| weather.source.digest())
    }

    fn statements(&self) -> &'static str {
        timeseries::TABLES
    }

    fn open(&self, site: &Site, load: Load) -> Result<Box<dyn Application>> {
        let generator = Generator::new(load, self.weather.clone());
        Ok(Box::new(TimeseriesApplication::new((self.design)(site)?, generator, site.clone())))
    }
}
