//! Comparison of a design with the model.

use anyhow::{Result, ensure};
use messages::Edit;

use super::design::Design;
use super::generator::{Generator, Item};
use super::oracle::Oracle;
use crate::paging::verify_lists;
use crate::recipe::Verified;

/// Returns the model of the items before `written`, and of the next one if it was written.
pub(super) fn model(design: &dyn Design, generator: &Generator, written: u64) -> Result<Oracle> {
    let mut oracle = Oracle::default();
    for number in 0..written {
        oracle.apply(&generator.item(number));
    }
    let next = generator.item(written);
    let is_written = match &next {
        Item::Send(message) => !design.history(message)?.is_empty(),
        Item::Edit(Edit { message, at_ms, .. }) => {
            design.history(message)?.iter().any(|version| version.at_ms == *at_ms)
        }
    };
    if is_written {
        oracle.apply(&next);
    }
    Ok(oracle)
}

/// Compares all lists and all texts.
pub(super) fn verify(design: &dyn Design, oracle: &Oracle) -> Result<Verified> {
    let mut verified = verify_lists(design, &oracle.lists())?;
    for (message, expected) in oracle.histories() {
        let versions = design.history(&message)?;
        ensure!(
            versions == expected,
            "message {}: its texts are {versions:?}, and not {expected:?}",
            message.id
        );
        verified.add(1, 1);
    }
    Ok(verified)
}
