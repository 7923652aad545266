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

pub use design::{Design, List};
pub use generator::{Generator, Item};

use crate::designed::DesignedRecipe;
use crate::recipe::About;
use application::MessagesApplication;

/// Recipe of messages.
pub type MessagesRecipe = DesignedRecipe<dyn Design>;

/// The recipe with the design of `examples/messages`.
pub static MESSAGES: MessagesRecipe = DesignedRecipe {
    about: About {
        name: "messages",
        namespace: "messages",
        shows: "inbox, outbox and conversations: a table for each query, pages that continue \
                after the last row, edits as versions, and a repair of interrupted writes",
        items: "messages",
        default_items: 100_000,
        default_rate: 2_000,
        batch_items: 1000,
        operations: &["send", "received", "two pages", "conversation"],
    },
    tables: messages::TABLES,
    design: design::mailbox,
    application: |design, opened| Box::new(MessagesApplication::new(design, opened.load)),
    file: None,
};
