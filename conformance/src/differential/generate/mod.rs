//! Programs from a seed, in the language of the case files.
//!
//! Rows, qualifiers, values and timestamps are drawn from small sets, so that writes interact.
//! Timestamps are explicit, because two clusters assign different ones. Operations that the store
//! must stamp (increments and appends) use a family with one version that is never read raw, and
//! results are compared with such times erased. Exclusions and their reasons are documented in the
//! functions that omit them.
#![expect(
    clippy::format_push_string,
    clippy::format_collect,
    reason = "lines are assembled word by word and are short"
)]

mod filter;
mod read;
mod table;
mod write;

use super::rng::SeededRng;

/// Capabilities common to the two sides of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct Profile {
    /// Merges that keep delete markers (`minor`) are available; clients cannot request them on a
    /// cluster.
    pub minor: bool,
    /// Regions are split and merged, tables start with several regions, and are altered and
    /// truncated.
    pub schema: bool,
    /// One side writes files and the other does not: only operations independent of that are
    /// generated.
    pub left_in_memory: bool,
}

/// Rows of all programs; some are prefixes or neighbors of others.
const ROWS: &[&str] = &["a", "aa", "ab", "b", "b\\x00", "ba", "c", "\\xff"];
const QUALIFIERS: &[&str] = &["", "p", "p\\x00", "pq", "q", "qa"];
const VALUES: &[&str] = &[
    "v",
    "v1",
    "v2",
    "V2",
    "\"\"",
    "w",
    "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x05",
    "\\x00\\x00\\x00\\x01\\x0f",
    "\\xff",
];
/// Family of counters.
const COUNTERS: &str = "n";

/// Returns a program; its first line creates the table.
pub fn program(seed: u64, profile: Profile) -> Vec<String> {
    let mut maker = ProgramGenerator::new(seed, profile);
    let mut lines = vec![maker.create()];
    let steps = maker.rng.between(30, 70);
    while lines.len() < steps {
        maker.step(&mut lines);
    }
    // The final state is always read, whatever was drawn.
    lines.push(maker.read_all());
    lines
}

/// Generator state: random numbers, and the operations that the program may use.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag allows one feature, and they combine freely"
)]
struct ProgramGenerator {
    rng: SeededRng,
    profile: Profile,
    families: Vec<&'static str>,
    counters: bool,
    /// Deleted cells and excess versions still exist, and may be read.
    raw: bool,
    deletes: bool,
    major: bool,
    time_ranges: bool,
    new_versions: bool,
    /// Merges regions instead of splitting them: HBase does not merge a recently split region,
    /// because its daughters still reference the files of the parent.
    merges: bool,
}

impl ProgramGenerator {
    fn new(seed: u64, profile: Profile) -> Self {
        let mut rng = SeededRng::new(seed);
        let families = [&["f"][..], &["f", "g"], &["f", "g"]][rng.below(3)].to_vec();
        // A flush drops excess versions, and a major compaction drops markers. Without them,
        // versions can reappear and markers can hide later writes.
        let deletes = !profile.left_in_memory || rng.one_in(2);
        // HBase skips files by their time ranges, which may contain the cells that superseded a
        // version. The cells that a flush drops from one batch are specific to HBase
        // (docs/differences.md). So neither time ranges nor raw scans are used.
        let new_versions = rng.one_in(8);
        Self {
            counters: rng.one_in(4),
            raw: !profile.left_in_memory && !new_versions,
            deletes,
            major: !profile.left_in_memory || !deletes,
            // A time range finds an excess version that was not dropped by a flush.
            time_ranges: (!profile.left_in_memory || deletes) && !new_versions,
            new_versions,
            merges: rng.one_in(3),
            rng,
            profile,
            families,
        }
    }

    fn step(&mut self, lines: &mut Vec<String>) {
        match self.rng.below(100) {
            0..45 => lines.push(self.write()),
            45..88 => lines.push(self.read()),
            88..94 => lines.push("flush".into()),
            94..96 if self.major => lines.push("major".into()),
            96 if self.profile.minor => lines.push("minor".into()),
            // A change of the table merges its files, including markers.
            97..100 if self.profile.schema && self.major && self.rng.one_in(2) => {
                lines.push(self.change());
            }
            _ => lines.push(self.read_all()),
        }
    }

    /// Reads all rows.
    fn read_all(&mut self) -> String {
        let raw = if self.raw && self.rng.one_in(2) { " raw" } else { "" };
        format!(
            "scan{}{raw} versions=all",
            if raw.is_empty() { String::new() } else { self.raw_families() }
        )
    }

    /// Returns the families that may be read raw: the number of versions of a counter depends on
    /// timing.
    fn raw_families(&self) -> String {
        if self.counters {
            self.families.iter().map(|family| format!(" {family}")).collect()
        } else {
            String::new()
        }
    }

    /// Returns a family, rarely one that the table does not have.
    fn family(&mut self) -> &'static str {
        if self.rng.one_in(150) { "x" } else { self.real_family() }
    }

    fn real_family(&mut self) -> &'static str {
        self.families[self.rng.below(self.families.len())]
    }

    /// Returns a family to read from.
    fn read_family(&mut self) -> &'static str {
        if self.counters && self.rng.one_in(4) { COUNTERS } else { self.family() }
    }

    fn row(&mut self) -> &'static str {
        // Most operations use few rows.
        if self.rng.one_in(2) { "a" } else { self.rng.pick(ROWS) }
    }

    fn qualifier(&mut self) -> &'static str {
        // Family markers sort among the cells of the empty qualifier, by time: a filter that skips
        // from a newer one to a later column skips them, in HBase too, and then returns cells that
        // a flush drops. With NEW_VERSION_BEHAVIOR, HBase ignores family markers before the empty
        // qualifier (docs/differences.md).
        let without_empty = self.new_versions || self.profile.left_in_memory && self.deletes;
        self.rng.pick(if without_empty { &QUALIFIERS[1..] } else { QUALIFIERS })
    }

    /// Returns a qualifier for a position that requires a word.
    fn qualifier_word(&mut self) -> &'static str {
        match self.qualifier() {
            "" => "\"\"",
            qualifier => qualifier,
        }
    }

    fn column(&mut self) -> String {
        format!("{}:{}", self.family(), self.qualifier())
    }

    fn value(&mut self) -> &'static str {
        self.rng.pick(VALUES)
    }

    fn timestamp(&mut self) -> String {
        match self.rng.below(60) {
            0 => "0".into(),
            1 => (i64::MAX - 1).to_string(),
            _ => self.rng.between(1, 9).to_string(),
        }
    }

    fn time_range(&mut self) -> String {
        let (low, high) = (self.rng.below(10), self.rng.below(11));
        match self.rng.below(6) {
            0 => format!("{low}.."),
            1 => format!("..{high}"),
            _ => format!("{}..{}", low.min(high), low.max(high)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Case;

    #[test]
    fn every_generated_program_parses() {
        let every = Profile { minor: true, schema: true, left_in_memory: false };
        for seed in 0..2000 {
            let text = format!("case c\n{}\n", program(seed, every).join("\n"));
            let case = Case::parse_file(&text)
                .unwrap_or_else(|malformed| panic!("seed {seed}: {malformed}\n{text}"))
                .remove(0);
            for step in case.steps {
                step.command.unwrap_or_else(|error| panic!("seed {seed}: {}: {error}", step.text));
            }
        }
    }

    #[test]
    fn equal_seeds_generate_equal_programs() {
        assert_eq!(program(7, Profile::default()), program(7, Profile::default()));
        assert_ne!(program(7, Profile::default()), program(8, Profile::default()));
    }
}
