//! Feed of friends: posts pushed to timelines, and those of celebrities pulled.
//!
//! The application is `examples/feed`; `design.rs` is the interface that the check uses.

mod application;
mod celebrity;
mod design;
mod fan_out;
mod generator;
mod load;
mod verify;

pub use design::{Design, MAX_PUSHED};
pub use generator::{Generator, Item};

use crate::designed::DesignedRecipe;
use crate::recipe::About;
use application::FeedApplication;

/// Recipe of feeds.
pub type FeedRecipe = DesignedRecipe<dyn Design>;

/// The recipe with the design of `examples/feed`.
pub static FEED: FeedRecipe = DesignedRecipe {
    about: About {
        name: "feed",
        namespace: "feed",
        shows: "feeds of friends: posts pushed to the timelines of followers in parts that resume, \
                those of celebrities pulled and merged, likes and comments that count once",
        items: "operations",
        default_items: 20_000,
        default_rate: 1_000,
        batch_items: 1000,
        operations: &["change", "post", "page of 20", "likes"],
    },
    tables: feed::TABLES,
    design: design::feed,
    application: |design, opened| Box::new(FeedApplication::new(design, opened.load)),
    file: None,
};
