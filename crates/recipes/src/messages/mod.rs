//! Messages between users: inbox, outbox and conversations, by page; edits as versions.
//!
//! The application is `examples/messages`. `design.rs` is the interface that the check uses, so that
//! a test can replace the application by a design with a mistake and see the check fail.

mod application;
mod design;
mod generator;
mod load;
mod oracle;
mod verify;

use anyhow::Result;

pub use design::{Design, List};
pub use generator::{Generator, Item};

use crate::recipe::{About, Application, Load, Recipe, Site};
use application::MessagesApplication;

/// Recipe of messages.
pub struct MessagesRecipe {
    /// Opens the design on the tables of a namespace.
    pub design: fn(&Site) -> Result<Box<dyn Design>>,
}

/// The recipe with the design of `examples/messages`.
pub static MESSAGES: MessagesRecipe = MessagesRecipe { design: design::mailbox };

static ABOUT: About = About {
    name: "messages",
    namespace: "messages",
    shows: "inbox, outbox and conversations: a table for each query, pages that continue after the \
            last row, edits as versions, and a repair of interrupted writes",
    items: "messages",
    default_items: 100_000,
    default_rate: 2_000,
    operations: &["send", "received", "two pages", "conversation"],
};

impl Recipe for MessagesRecipe {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn statements(&self) -> &'static str {
        messages::TABLES
    }

    fn open(&self, site: &Site, load: Load) -> Result<Box<dyn Application>> {
        Ok(Box::new(MessagesApplication::new((self.design)(site)?, load)))
    }
}
