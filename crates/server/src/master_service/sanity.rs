//! Checks of a descriptor before a table is created or changed (HBase 2.6:
//! `TableDescriptorChecker`).
//!
//! A table whose attribute `hbase.table.sanity.checks` is false passes most of them with a warning
//! in the log.

use halite_engine::hfile::Compression;
use halite_engine::split_policy_classes;
use halite_types::key::to_string_binary;
use halite_types::schema::{family_attribute as fam, table_attribute as tab};
use halite_types::suggest::{closest_match, did_you_mean};
use halite_types::{Attributes, FamilyDescriptor, TableDescriptor};
use tracing::warn;

use crate::base::call::CallError;

const SWITCH: &str = "hbase.table.sanity.checks";
/// Minimum region size at which a split is allowed, in bytes.
pub(super) const MIN_REGION_FILE_BYTES: u64 = 2 << 20;
const MIN_FLUSH_BYTES: i64 = 1 << 20;
const TIERING: &str = "hbase.hstore.datatiering.type";
const STORE_ENGINE: &str = "hbase.hstore.engine.class";
const DATE_TIERED: &str = "org.apache.hadoop.hbase.regionserver.DateTieredStoreEngine";
const COMPACTION_POLICY: &str = "hbase.hstore.defaultengine.compactionpolicy.class";
const FIFO: &str = "org.apache.hadoop.hbase.regionserver.compactions.FIFOCompactionPolicy";
const BLOCKING_FILES: &str = "hbase.hstore.blockingStoreFiles";

/// Built-in coprocessors, always active. HBase can load its other coprocessors. A descriptor must
/// not name one that is absent, since clients would rely on it.
const COPROCESSORS: [&str; 2] = [
    "org.apache.hadoop.hbase.coprocessor.AggregateImplementation",
    "org.apache.hadoop.hbase.coprocessor.MultiRowMutationEndpoint",
];
/// Codecs that are not written, with HBase's reason for rejecting them without their libraries.
const NO_CODECS: [(&str, &str); 4] = [
    (
        "LZO",
        "java.lang.RuntimeException: java.lang.ClassNotFoundException: \
         com.hadoop.compression.lzo.LzoCodec",
    ),
    ("BZIP2", "java.lang.UnsupportedOperationException"),
    (
        "LZMA",
        "java.lang.RuntimeException: java.lang.ClassNotFoundException: \
         org.apache.hadoop.hbase.io.compress.xz.LzmaCodec",
    ),
    (
        "BROTLI",
        "java.lang.RuntimeException: java.lang.ClassNotFoundException: \
         org.apache.hadoop.hbase.io.compress.brotli.BrotliCodec",
    ),
];

/// Checks a descriptor.
///
/// # Errors
/// `DoNotRetryIOException` with HBase's text. The engine rejects what it cannot store.
pub(super) fn check(table: &TableDescriptor) -> Result<(), CallError> {
    let checker = Checker {
        strict: !setting(table, SWITCH).is_some_and(|value| value.eq_ignore_ascii_case("false")),
    };
    checker.table(table)?;
    checker.classes(table)?;
    for family in table.families() {
        checker.family(table, family)?;
    }
    Ok(())
}

struct Checker {
    strict: bool,
}

impl Checker {
    fn refuse(&self, message: &str) -> Result<(), CallError> {
        if self.strict {
            let fix = format!(
                " Set {SWITCH} to false at conf or table descriptor if you want to bypass sanity \
                 checks"
            );
            return Err(CallError::do_not_retry(format!("{message}{fix}")));
        }
        warn!("{message}");
        Ok(())
    }

    fn table(&self, table: &TableDescriptor) -> Result<(), CallError> {
        if number(&table.attributes, tab::MAX_FILESIZE)?
            .is_some_and(|bytes| bytes < MIN_REGION_FILE_BYTES.cast_signed())
        {
            let given = &table.attributes[tab::MAX_FILESIZE];
            self.refuse(&format!(
                "MAX_FILESIZE for table descriptor or \"hbase.hregion.max.filesize\" ({given}) is \
                 too small, which might cause over splitting into unmanageable number of regions."
            ))?;
        }
        if number(&table.attributes, tab::MEMSTORE_FLUSHSIZE)?
            .is_some_and(|bytes| bytes < MIN_FLUSH_BYTES)
        {
            let given = &table.attributes[tab::MEMSTORE_FLUSHSIZE];
            self.refuse(&format!(
                "MEMSTORE_FLUSHSIZE for table descriptor or \"hbase.hregion.memstore.flush.size\" \
                 ({given}) is too small, which might cause very frequent flushing."
            ))?;
        }
        if table.family_count() == 0 {
            self.refuse("Table should have at least one column family.")?;
        }
        if number(&table.attributes, "REGION_REPLICATION")?.is_some_and(|count| count < 1) {
            self.refuse("Table region replication should be at least one.")?;
        }
        Ok(())
    }

    /// Checks split policies and coprocessors, which are Java classes. Only the policies and
    /// coprocessors that have a counterpart are allowed.
    fn classes(&self, table: &TableDescriptor) -> Result<(), CallError> {
        let policies =
            [table.attributes.get(tab::SPLIT_POLICY), setting(table, tab::SPLIT_POLICY_SETTING)];
        let known: Vec<String> = split_policy_classes().collect();
        for policy in policies.into_iter().flatten().filter(|class| !class.is_empty()) {
            if !known.contains(policy) {
                let near = closest_match(policy, known.iter().map(String::as_str));
                self.refuse(&format!(
                    "Unable to load configured region split policy '{policy}' for table '{}'{}",
                    table.name(),
                    did_you_mean(near)
                ))?;
            }
        }
        for (_, value) in table.attributes.iter().filter(|(name, _)| is_coprocessor(name)) {
            // path | class | priority | arguments
            let class = value.split('|').nth(1).unwrap_or(value).trim();
            if !COPROCESSORS.contains(&class) {
                // A table must not allow what a constraint or an access controller would forbid,
                // whatever the switch.
                return Err(CallError::do_not_retry(format!("Class {class} cannot be loaded")));
            }
        }
        Ok(())
    }

    fn family(&self, table: &TableDescriptor, family: &FamilyDescriptor) -> Result<(), CallError> {
        let name = to_string_binary(family.name());
        let value = |attribute: &str, default: i64| {
            number(&family.attributes, attribute).map(|value| value.unwrap_or(default))
        };
        if value(fam::TTL, i64::from(i32::MAX))? <= 0 {
            self.refuse(&format!("TTL for column family {name} must be positive."))?;
        }
        if !(1024..=16 << 20).contains(&value(fam::BLOCKSIZE, 65_536)?) {
            self.refuse(&format!(
                "Block size for column family {name}  must be between 1K and 16MB."
            ))?;
        }
        let (least, most) = (value(fam::MIN_VERSIONS, 0)?, value(fam::VERSIONS, 1)?);
        if least < 0 {
            self.refuse(&format!("Min versions for column family {name}  must be positive."))?;
        }
        if least > most {
            self.refuse(&format!(
                "Min versions for column family {name} must be less than the Max versions."
            ))?;
        }
        let scope = value(fam::REPLICATION_SCOPE, 0)?;
        if !(0..=2).contains(&scope) {
            self.refuse(&format!(
                "Replication scope for column family {name} is {scope} which is invalid."
            ))?;
        }
        if value("DFS_REPLICATION", 0)? < 0 {
            self.refuse(&format!(
                "HFile Replication for column family {name}  must be greater than zero."
            ))?;
        }
        check_codecs(family)?;
        self.tiering(table, family)?;
        self.compaction_policy(table, family)?;
        // Cells that require encryption must not be written unencrypted, whatever the switch.
        match family.attributes.get("ENCRYPTION").filter(|cipher| !cipher.is_empty()) {
            Some(cipher) => Err(CallError::do_not_retry(format!(
                "Cipher {cipher} failed test: encryption is not offered by Halite; leave it out"
            ))),
            None => Ok(()),
        }
    }

    fn tiering(&self, table: &TableDescriptor, family: &FamilyDescriptor) -> Result<(), CallError> {
        let value = |name: &str| family_setting(table, family, name);
        if value(TIERING).is_some_and(|kind| kind == "TIME_RANGE")
            && value(STORE_ENGINE).is_none_or(|engine| engine != DATE_TIERED)
        {
            return self
                .refuse("Time Range Data Tiering should be enabled with Date Tiered Compaction.");
        }
        Ok(())
    }

    fn compaction_policy(
        &self,
        table: &TableDescriptor,
        family: &FamilyDescriptor,
    ) -> Result<(), CallError> {
        let value = |name: &str| family_setting(table, family, name);
        if value(COMPACTION_POLICY).is_none_or(|class| class != FIFO) {
            return Ok(());
        }
        if family.ttl_ms().is_none() {
            self.refuse("Default TTL is not supported for FIFO compaction")?;
        }
        if family.min_versions() > 0 {
            self.refuse("MIN_VERSION > 0 is not supported for FIFO compaction")?;
        }
        let files = value(BLOCKING_FILES).and_then(|files| files.parse::<i64>().ok()).unwrap_or(16);
        if files < 1000 {
            let name = to_string_binary(family.name());
            let text = format!(
                "Blocking file count '{BLOCKING_FILES}' {files} is below recommended minimum of \
                 1000 for column family {name}"
            );
            self.refuse(&text)?;
        }
        Ok(())
    }
}

/// Checks the codecs of files and of compactions. HBase's test of a codec fails in the same way if
/// its library is absent.
fn check_codecs(family: &FamilyDescriptor) -> Result<(), CallError> {
    for attribute in fam::CODECS {
        let Some(name) = family.attributes.get(attribute) else { continue };
        let Some(error) =
            Compression::from_name(name).and_then(|codec| codec.check_written(attribute).err())
        else {
            continue;
        };
        let why = NO_CODECS
            .into_iter()
            .find_map(|(codec, why)| name.eq_ignore_ascii_case(codec).then_some(why))
            .unwrap_or_default();
        let family = to_string_binary(family.name());
        return Err(CallError::do_not_retry(format!("{why} (family {family}: {error})")));
    }
    Ok(())
}

fn is_coprocessor(attribute: &str) -> bool {
    let number = attribute.to_ascii_lowercase().strip_prefix("coprocessor$").map(str::to_owned);
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Returns a setting of a table. Clients send settings as attributes or as configuration.
fn setting<'a>(table: &'a TableDescriptor, name: &str) -> Option<&'a String> {
    table.attributes.get(name).or_else(|| table.configuration.get(name))
}

/// Returns a setting of a family, or of its table.
fn family_setting<'a>(
    table: &'a TableDescriptor,
    family: &'a FamilyDescriptor,
    name: &str,
) -> Option<&'a String> {
    family
        .attributes
        .get(name)
        .or_else(|| family.configuration.get(name))
        .or_else(|| setting(table, name))
}

fn number(attributes: &Attributes, name: &str) -> Result<Option<i64>, CallError> {
    let Some(text) = attributes.get(name) else { return Ok(None) };
    let wrong = |_| CallError::do_not_retry(format!("{name} is {text:?}; give a whole number"));
    text.trim().parse().map(Some).map_err(wrong)
}

/// Logs, when the store is opened, that a descriptor of an earlier version names a codec that is
/// not written.
pub(crate) fn log_unwritten_codecs(table: &TableDescriptor) {
    for family in table.families() {
        for attribute in fam::CODECS {
            let codec = family.attributes.get(attribute).map(String::as_str).unwrap_or_default();
            let Some(Err(error)) =
                Compression::from_name(codec).map(|codec| codec.check_written(attribute))
            else {
                continue;
            };
            warn!(
                "table {}: family {}: {error}; until then its files are written without compression",
                table.name(),
                to_string_binary(family.name())
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::sync::{Arc, Mutex};

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes as SpanAttributes, Id, Record};
    use tracing::subscriber::with_default;
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

    /// Subscriber that stores the logged lines.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>);

    impl Subscriber for Log {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &SpanAttributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            event.record(&mut Message(&self.0));
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    /// Visitor that stores the text of an event.
    struct Message<'a>(&'a Mutex<Vec<String>>);

    impl Visit for Message<'_> {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            if field.name() == "message" {
                self.0.lock().unwrap().push(format!("{value:?}"));
            }
        }
    }

    #[test]
    fn unwritten_codec_of_old_table_is_logged() {
        let log = Log::default();
        let logged = |family: FamilyDescriptor| {
            with_default(log.clone(), || log_unwritten_codecs(&table(family)));
            std::mem::take(&mut *log.0.lock().unwrap())
        };
        let written = family().set("COMPRESSION", "zstd").set("COMPRESSION_COMPACT", "LZ4");
        assert!(logged(written).is_empty());
        assert_eq!(
            logged(family().set("COMPRESSION", "lzo").set("COMPRESSION_COMPACT_MAJOR", "LZMA")),
            [
                "table t: family f: COMPRESSION LZO is not built in; choose one of NONE, GZ, \
                 SNAPPY, LZ4 or ZSTD; until then its files are written without compression",
                "table t: family f: COMPRESSION_COMPACT_MAJOR LZMA is read and not written; choose \
                 one of NONE, GZ, SNAPPY, LZ4 or ZSTD; until then its files are written without \
                 compression"
            ]
        );
    }

    fn table(family: FamilyDescriptor) -> TableDescriptor {
        TableDescriptor::new("t".parse().unwrap()).family(family)
    }

    const CONTROLLER: &str = "org.apache.hadoop.hbase.security.access.AccessController";

    fn family() -> FamilyDescriptor {
        FamilyDescriptor::new("f")
    }

    fn refusal(table: &TableDescriptor) -> String {
        let fault = check(table).unwrap_err();
        assert_eq!(fault.exception().class(), "org.apache.hadoop.hbase.DoNotRetryIOException");
        fault.exception().message().to_owned()
    }

    #[test]
    fn valid_table_passes_sanity_check() {
        check(&table(family())).unwrap();
        check(
            &table(family().set("TTL", 1).set("BLOCKSIZE", 1024))
                .set("MAX_FILESIZE", 1 << 30)
                .set("MEMSTORE_FLUSHSIZE", 128 << 20),
        )
        .unwrap();
        check(&table(family()).set(
            "coprocessor$1",
            "|org.apache.hadoop.hbase.coprocessor.AggregateImplementation|1001|",
        ))
        .unwrap();
        check(&table(family()).set(
            "SPLIT_POLICY",
            "org.apache.hadoop.hbase.regionserver.KeyPrefixRegionSplitPolicy",
        ))
        .unwrap();
    }

    #[test]
    fn invalid_table_is_rejected_with_hbase_message() {
        let cases = [
            (
                TableDescriptor::new("t".parse().unwrap()),
                "Table should have at least one column family.",
            ),
            (
                table(family()).set("MAX_FILESIZE", 1024),
                "MAX_FILESIZE for table descriptor or \"hbase.hregion.max.filesize\" (1024) is too \
                 small",
            ),
            (
                table(family()).set("MEMSTORE_FLUSHSIZE", 0),
                "MEMSTORE_FLUSHSIZE for table descriptor",
            ),
            (
                table(family()).set("REGION_REPLICATION", 0),
                "Table region replication should be at least one.",
            ),
            (
                table(family()).set("SPLIT_POLICY", "nonexisting.foo.class"),
                "Unable to load configured region split policy",
            ),
            (
                table(family()).set(tab::SPLIT_POLICY_SETTING, "nonexisting.foo.class"),
                "Unable to load configured region split policy",
            ),
            (
                table(family()).set("coprocessor$1", "|com.foo.Bar|1|"),
                "Class com.foo.Bar cannot be loaded",
            ),
            (
                table(family())
                    .set("coprocessor$1", "|org.apache.hadoop.hbase.coprocessor.NoSuch|1|"),
                "Class org.apache.hadoop.hbase.coprocessor.NoSuch",
            ),
            (
                table(family()).set("coprocessor$1", format!("|{CONTROLLER}|1|")),
                "Class org.apache.hadoop.hbase.security.access.AccessController",
            ),
            (
                table(family().set("COMPRESSION", "LZO")),
                "java.lang.RuntimeException: java.lang.ClassNotFoundException: \
                 com.hadoop.compression.lzo.LzoCodec",
            ),
            (
                table(family().set("COMPRESSION", "bzip2")),
                "java.lang.UnsupportedOperationException",
            ),
            (
                table(family().set("COMPRESSION_COMPACT", "LZMA")),
                "java.lang.RuntimeException: java.lang.ClassNotFoundException: ",
            ),
            (table(family().set("TTL", 0)), "TTL for column family f must be positive."),
            (
                table(family().set("BLOCKSIZE", 128 << 20)),
                "Block size for column family f  must be between 1K and 16MB.",
            ),
            (
                table(family().set("MIN_VERSIONS", -1)),
                "Min versions for column family f  must be positive.",
            ),
            (
                table(family().set("MIN_VERSIONS", 2)),
                "Min versions for column family f must be less than the Max versions.",
            ),
            (
                table(family().set("REPLICATION_SCOPE", 3)),
                "Replication scope for column family f is 3 which is invalid.",
            ),
            (table(family().set("ENCRYPTION", "AES")), "Cipher AES failed test"),
            (table(family().set("TTL", "soon")), "TTL is \"soon\""),
            (
                table(family()).set(TIERING, "TIME_RANGE"),
                "Time Range Data Tiering should be enabled with Date Tiered Compaction.",
            ),
            (
                table(family()).set(COMPACTION_POLICY, FIFO),
                "Default TTL is not supported for FIFO compaction",
            ),
        ];
        for (table, expected) in cases {
            let text = refusal(&table);
            assert!(text.starts_with(expected), "{text}");
        }
    }

    #[test]
    fn disabled_sanity_checks_still_reject_unsupported_features() {
        let odd =
            table(family().set("BLOCKSIZE", 512)).set("MEMSTORE_FLUSHSIZE", 1).set(SWITCH, "false");
        check(&odd).unwrap();
        assert!(check(&table(family().set("ENCRYPTION", "AES")).set(SWITCH, "false")).is_err());
        assert!(
            check(
                &table(family())
                    .set("coprocessor$1", format!("|{CONTROLLER}|1|"))
                    .set(SWITCH, "false")
            )
            .is_err()
        );
        assert!(check(&table(family().set("COMPRESSION", "LZO")).set(SWITCH, "false")).is_err());
    }

    #[test]
    fn tiering_requires_date_tiered_store_engine() {
        check(&table(family()).set(TIERING, "TIME_RANGE").set(STORE_ENGINE, DATE_TIERED)).unwrap();
        let mut tiered = family();
        tiered.configuration.insert(TIERING.to_owned(), "TIME_RANGE".to_owned());
        assert!(check(&table(tiered.clone())).is_err());
        check(&table(tiered).set(STORE_ENGINE, DATE_TIERED)).unwrap();
    }
}
