//! History of users: all operations of a user, or those between two times, newest first.
//!
//! The application is `examples/user-ops`; `design.rs` is the interface that the check uses.

mod application;
mod design;
mod flights;
mod generator;

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;

pub use design::Design;
pub use flights::Flights;
pub use generator::Generator;

use crate::recipe::{About, Application, Load, Recipe, Site};
use application::UserOpsApplication;

/// Recipe of user operations.
pub struct UserOpsRecipe {
    /// Opens the design on the tables of a namespace.
    pub design: fn(&Site) -> Result<Box<dyn Design>>,
    /// Real operations instead of generated ones.
    pub flights: Option<Arc<Flights>>,
}

/// The recipe with the design of `examples/user-ops`.
pub static USER_OPS: UserOpsRecipe = UserOpsRecipe { design: design::history, flights: None };

static ABOUT: About = About {
    name: "user-ops",
    namespace: "user_ops",
    shows: "history of users: numbered ids reversed, so that new users are in all regions, and times \
            newest first, with ranges in their natural order",
    items: "operations",
    default_items: 100_000,
    default_rate: 4_000,
    operations: &["record", "history", "between"],
};

static ABOUT_FLIGHTS: About = About { namespace: "user_ops_flights", ..ABOUT };

impl Recipe for UserOpsRecipe {
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
        user_ops::TABLES
    }

    fn open(&self, site: &Site, load: Load) -> Result<Box<dyn Application>> {
        let generator = Generator::new(load, self.flights.clone());
        Ok(Box::new(UserOpsApplication::new((self.design)(site)?, generator)))
    }
}
