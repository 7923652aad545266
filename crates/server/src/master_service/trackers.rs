//! Store file trackers of tables and families.
//!
//! The manifest records which store files are live, so a tracker is only a string in the
//! descriptor. The rules for changing it are HBase's (`StoreFileTrackerValidationUtils`,
//! `ModifyStoreFileTrackerProcedure`).

use halite_types::key::to_string_binary;
use halite_types::{FamilyDescriptor, TableDescriptor};
use halite_wire::exception::ExceptionKind;

use crate::base::call::CallError;

/// Attribute that HBase 2.5 and later write into every table: the implementation that tracks live
/// store files.
pub(super) const TRACKER: &str = "hbase.store.file-tracker.impl";
/// Tracker of tables without a tracker attribute.
const TRACKER_DEFAULT: &str = "DEFAULT";
pub(super) const SOURCE: &str = "hbase.store.file-tracker.migration.src.impl";
pub(super) const TARGET: &str = "hbase.store.file-tracker.migration.dst.impl";
const MIGRATION: &str = "MIGRATION";

/// Replaces the trackers in the descriptors of a table and its families.
///
/// # Errors
/// Errors of altering the table.
pub(super) fn set_tracker(
    engine: &halite_engine::Engine,
    name: &halite_types::TableName,
    tracker: &str,
) -> Result<(), CallError> {
    let mut table = TableDescriptor::clone(&*engine.descriptor(name)?);
    table.attributes.insert(TRACKER.to_owned(), tracker.to_owned());
    let named: Vec<_> = table
        .families()
        .filter(|family| family.configuration.contains_key(TRACKER))
        .cloned()
        .collect();
    for mut family in named {
        family.configuration.insert(TRACKER.to_owned(), tracker.to_owned());
        table.set_family(family);
    }
    Ok(engine.alter_table(table)?)
}

/// Returns a tracker to which a table may be moved.
pub(super) fn check_target(tracker: &str) -> Result<String, CallError> {
    // For a move of a table, HBase looks up the class in another way.
    let name = tracker_name(tracker).map_err(|_| {
        CallError::do_not_retry(format!("java.lang.ClassNotFoundException: {tracker}"))
    })?;
    if name == MIGRATION {
        return Err(CallError::do_not_retry(format!("Do not need to transfer to {tracker}")));
    }
    Ok(tracker.to_owned())
}

/// Checks the trackers of a new table, or of one changed from `old` with its enabled state.
///
/// # Errors
/// `DoNotRetryIOException` and `TableNotEnabledException`, with HBase's texts.
pub(super) fn check_new_trackers(
    new: &TableDescriptor,
    old: Option<(&TableDescriptor, bool)>,
) -> Result<(), CallError> {
    for family in new.families() {
        let trackers = Trackers::for_family(new, family)?;
        let before = old.and_then(|(table, enabled)| {
            Some((Trackers::for_family(table, table.find_family(family.name())?), enabled))
        });
        let subject =
            format!("for family {} of table {}", to_string_binary(family.name()), new.name());
        let refusal = match before {
            None if trackers.current == MIGRATION => {
                let text = format!(
                    "Should not use {MIGRATION} as store file tracker for new family {}",
                    to_string_binary(family.name())
                );
                Some(format!("{text} of table {}", new.name()))
            }
            None => None,
            Some((before, enabled)) => {
                let before = before?;
                if before.current == MIGRATION && trackers.current != MIGRATION && !enabled {
                    let text = format!(
                        "Should not change store file tracker implementation from {MIGRATION} \
                         while table {} is disabled",
                        new.name()
                    );
                    return Err(CallError::new(ExceptionKind::TableNotEnabled, text));
                }
                trackers.refusal_after(&before).map(|text| format!("{text} {subject}"))
            }
        };
        if let Some(text) = refusal {
            return Err(CallError::do_not_retry(text));
        }
    }
    Ok(())
}

/// Tracker of a family; for `MIGRATION` also the source and target trackers.
struct Trackers {
    current: String,
    source: String,
    target: String,
}

impl Trackers {
    fn for_family(table: &TableDescriptor, family: &FamilyDescriptor) -> Result<Self, CallError> {
        let of_family =
            |name: &str| family.configuration.get(name).or_else(|| family.attributes.get(name));
        let value = |name: &str| {
            let value = of_family(name)
                .or_else(|| table.attributes.get(name))
                .or_else(|| table.configuration.get(name));
            value.map_or(Ok(TRACKER_DEFAULT.to_owned()), |value| tracker_name(value))
        };
        Ok(Self { current: value(TRACKER)?, source: value(SOURCE)?, target: value(TARGET)? })
    }

    /// Returns the reason why `self` must not follow `before`; `None` if it may.
    fn refusal_after(&self, before: &Self) -> Option<String> {
        let (is_migration, was_migration) =
            (self.current == MIGRATION, before.current == MIGRATION);
        match (was_migration, is_migration) {
            (true, true) if self.source != before.source => Some(format!(
                "The src tracker has been changed from {} to {}",
                before.source, self.source
            )),
            (true, true) if self.target != before.target => Some(format!(
                "The dst tracker has been changed from {} to {}",
                before.target, self.target
            )),
            (true, false) if self.current != before.target => Some(format!(
                "Should migrate tracker to {} but got {}",
                before.target, self.current
            )),
            (false, false) if self.current != before.current => Some(format!(
                "Should change to {MIGRATION} first when migrating from {}",
                before.current
            )),
            (false, true) if self.source != before.current => Some(format!(
                "Should use src tracker {} first but got {} when migrating from {}",
                before.current, self.source, before.current
            )),
            (false, true) if self.target == before.current => {
                Some(format!("The src tracker and dst tracker are both {}", before.current))
            }
            _ => None,
        }
    }
}

/// Returns the short name of a tracker, from any of its spellings.
fn tracker_name(text: &str) -> Result<String, CallError> {
    let short =
        text.strip_prefix("org.apache.hadoop.hbase.regionserver.storefiletracker.").unwrap_or(text);
    match short.to_ascii_uppercase().as_str() {
        "DEFAULT" | "DEFAULTSTOREFILETRACKER" => Ok(TRACKER_DEFAULT.to_owned()),
        "FILE" | "FILEBASEDSTOREFILETRACKER" => Ok("FILE".to_owned()),
        MIGRATION | "MIGRATIONSTOREFILETRACKER" => Ok(MIGRATION.to_owned()),
        // HBase's text, in a class that clients do not retry.
        _ => Err(CallError::do_not_retry(format!(
            "java.lang.RuntimeException: java.lang.RuntimeException: \
             java.lang.ClassNotFoundException: Class {text} not found"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(tracker: &str, moves: Option<(&str, &str)>) -> TableDescriptor {
        let table = TableDescriptor::new("t".parse().unwrap())
            .family(FamilyDescriptor::new("f"))
            .set(TRACKER, tracker);
        moves
            .map_or(table.clone(), |(source, target)| table.set(SOURCE, source).set(TARGET, target))
    }

    fn refusal(old: &TableDescriptor, new: &TableDescriptor) -> Option<String> {
        check_new_trackers(new, Some((old, true)))
            .err()
            .map(|fault| fault.exception().message().to_owned())
    }

    #[test]
    fn store_file_tracker_changes_only_through_migration() {
        let (default, file) = (table("DEFAULT", None), table("FILE", None));
        let moving = table("MIGRATION", Some(("DEFAULT", "FILE")));
        assert_eq!(refusal(&default, &default), None);
        assert_eq!(refusal(&default, &moving), None);
        assert_eq!(refusal(&moving, &file), None);
        assert!(refusal(&default, &file).unwrap().starts_with(
            "Should change to MIGRATION first when migrating from DEFAULT for family f"
        ));
        assert!(
            refusal(&moving, &default)
                .unwrap()
                .starts_with("Should migrate tracker to FILE but got DEFAULT")
        );
        assert!(
            refusal(&file, &moving)
                .unwrap()
                .starts_with("Should use src tracker FILE first but got DEFAULT")
        );
        let still = table("MIGRATION", Some(("DEFAULT", "DEFAULT")));
        assert!(
            refusal(&default, &still)
                .unwrap()
                .starts_with("The src tracker and dst tracker are both DEFAULT")
        );
        assert!(
            refusal(&moving, &still)
                .unwrap()
                .starts_with("The dst tracker has been changed from FILE to DEFAULT")
        );
    }

    #[test]
    fn migration_is_rejected_for_new_families_and_disabled_tables() {
        let moving = table("MIGRATION", Some(("DEFAULT", "FILE")));
        assert!(
            check_new_trackers(&moving, None)
                .unwrap_err()
                .exception()
                .message()
                .starts_with("Should not use MIGRATION")
        );
        let fault = check_new_trackers(&table("FILE", None), Some((&moving, false))).unwrap_err();
        assert_eq!(fault.exception().kind(), Some(ExceptionKind::TableNotEnabled));
    }

    #[test]
    fn trackers_have_short_and_long_names() {
        assert_eq!(
            tracker_name(
                "org.apache.hadoop.hbase.regionserver.storefiletracker.FileBasedStoreFileTracker"
            )
            .unwrap(),
            "FILE"
        );
        assert_eq!(tracker_name("default").unwrap(), "DEFAULT");
        let refused = tracker_name("nosuch.Tracker").unwrap_err();
        assert!(refused.exception().is_do_not_retry());
        assert!(refused.exception().message().ends_with(
            "java.lang.RuntimeException: java.lang.ClassNotFoundException: Class nosuch.Tracker \
             not found"
        ));
        assert_eq!(
            check_target("nosuch.Tracker").unwrap_err().exception().message(),
            "java.lang.ClassNotFoundException: nosuch.Tracker"
        );
        assert!(tracker_name("whatever").is_err() && check_target("MIGRATION").is_err());
    }
}
