//! Programs from a seed, in the language of the case files.
//!
//! Rows, qualifiers, values and timestamps come from small sets, so that writes meet. Timestamps are written out, because what a
//! cluster stamps is not what the other one stamps; what has to be stamped by the store (increments and appends) goes to a
//! family of one version that is never read raw, and the answers are compared with such times erased. What the generator leaves
//! out, and why, stands at the places that leave it out.
#![expect(clippy::format_push_string, clippy::format_collect, reason = "lines are put together word by word, and are short")]

mod filter;
mod read;
mod table;
mod write;

use super::chance::Chance;

/// What the two sides of a comparison can do alike.
#[derive(Clone, Copy, Debug, Default)]
pub struct Profile {
    /// There are merges that keep delete markers (`minor`), which nobody can ask of a cluster.
    pub minor: bool,
    /// Regions are split and merged, tables begin with several regions, are altered and truncated.
    pub schema: bool,
    /// One side writes files and the other does not: only what must not depend on it is done.
    pub placed_apart: bool,
}

/// The rows of all programs; some are prefixes or neighbours of others.
const ROWS: &[&str] = &["a", "aa", "ab", "b", "b\\x00", "ba", "c", "\\xff"];
const QUALIFIERS: &[&str] = &["", "p", "p\\x00", "pq", "q", "qa"];
const VALUES: &[&str] = &["v", "v1", "v2", "V2", "\"\"", "w", "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x05", "\\x00\\x00\\x00\\x01\\x0f", "\\xff"];
/// The family of counters.
const COUNTERS: &str = "n";

/// A program: its first line makes the table.
pub fn program(seed: u64, profile: Profile) -> Vec<String> {
    let mut maker = Maker::new(seed, profile);
    let mut lines = vec![maker.create()];
    let steps = maker.chance.between(30, 70);
    while lines.len() < steps {
        maker.step(&mut lines);
    }
    // What the last writes left is seen, whatever was drawn.
    lines.push(maker.see_all());
    lines
}

/// What is drawn from, and what the program may do.
#[expect(clippy::struct_excessive_bools, reason = "each allows one thing, and they go together in many ways")]
struct Maker {
    chance: Chance,
    profile: Profile,
    families: Vec<&'static str>,
    counters: bool,
    /// Cells of deleted rows and versions that are too many are still there, and may be looked at.
    raw: bool,
    deletes: bool,
    major: bool,
    time_ranges: bool,
    new_versions: bool,
    /// Regions are merged, else split: what was split a moment ago HBase does not merge, for its halves still refer to the
    /// files of the whole.
    merges: bool,
}

impl Maker {
    fn new(seed: u64, profile: Profile) -> Self {
        let mut chance = Chance::new(seed);
        let families = [&["f"][..], &["f", "g"], &["f", "g"]][chance.below(3)].to_vec();
        // A flush drops versions that are too many, and a major compaction drops markers: without them, both can come back to
        // light or hide what is written later.
        let deletes = !profile.placed_apart || chance.one_in(2);
        // HBase leaves files out by the times in them, which may hold what pushed a version out, and what a flush drops of cells
        // that were written at once is its own (docs/differences.md): no times and nothing raw is looked at.
        let new_versions = chance.one_in(8);
        Self {
            counters: chance.one_in(4),
            raw: !profile.placed_apart && !new_versions,
            deletes,
            major: !profile.placed_apart || !deletes,
            // A version that is too many and was not flushed away is found by its time.
            time_ranges: (!profile.placed_apart || deletes) && !new_versions,
            new_versions,
            merges: chance.one_in(3),
            chance,
            profile,
            families,
        }
    }

    fn step(&mut self, lines: &mut Vec<String>) {
        match self.chance.below(100) {
            0..45 => lines.push(self.write()),
            45..88 => lines.push(self.read()),
            88..94 => lines.push("flush".into()),
            94..96 if self.major => lines.push("major".into()),
            96 if self.profile.minor => lines.push("minor".into()),
            // A change of the table merges its files, markers and all.
            97..100 if self.profile.schema && self.major && self.chance.one_in(2) => lines.push(self.change()),
            _ => lines.push(self.see_all()),
        }
    }

    /// Everything there is.
    fn see_all(&mut self) -> String {
        let raw = if self.raw && self.chance.one_in(2) { " raw" } else { "" };
        format!("scan{}{raw} versions=all", if raw.is_empty() { String::new() } else { self.raw_families() })
    }

    /// The families that may be read raw: of a counter, how many versions there are depends on who was how fast.
    fn raw_families(&self) -> String {
        if self.counters { self.families.iter().map(|family| format!(" {family}")).collect() } else { String::new() }
    }

    /// A family, rarely one that the table does not have.
    fn family(&mut self) -> &'static str {
        if self.chance.one_in(150) { "x" } else { self.real_family() }
    }

    fn real_family(&mut self) -> &'static str {
        self.families[self.chance.below(self.families.len())]
    }

    /// A family to read from.
    fn read_family(&mut self) -> &'static str {
        if self.counters && self.chance.one_in(4) { COUNTERS } else { self.family() }
    }

    fn row(&mut self) -> &'static str {
        // Most of the program happens in few rows.
        if self.chance.one_in(2) { "a" } else { self.chance.pick(ROWS) }
    }

    fn qualifier(&mut self) -> &'static str {
        // Family markers lie among the cells of the empty qualifier, by time: a filter that jumps from a newer one to a later column
        // passes them over, in HBase too, and then sees what a flush drops.
        // With NEW_VERSION_BEHAVIOR, HBase forgets family markers before the empty qualifier (docs/differences.md).
        let without_empty = self.new_versions || self.profile.placed_apart && self.deletes;
        self.chance.pick(if without_empty { &QUALIFIERS[1..] } else { QUALIFIERS })
    }

    /// A qualifier where nothing has to be written as a word.
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
        self.chance.pick(VALUES)
    }

    fn timestamp(&mut self) -> String {
        match self.chance.below(60) {
            0 => "0".into(),
            1 => (i64::MAX - 1).to_string(),
            _ => self.chance.between(1, 9).to_string(),
        }
    }

    fn time_range(&mut self) -> String {
        let (low, high) = (self.chance.below(10), self.chance.below(11));
        match self.chance.below(6) {
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
    fn every_program_is_in_the_language() {
        let every = Profile { minor: true, schema: true, placed_apart: false };
        for seed in 0..2000 {
            let text = format!("case c\n{}\n", program(seed, every).join("\n"));
            let case = Case::parse_file(&text).unwrap_or_else(|malformed| panic!("seed {seed}: {malformed}\n{text}")).remove(0);
            for step in case.steps {
                step.command.unwrap_or_else(|error| panic!("seed {seed}: {}: {error}", step.text));
            }
        }
    }

    #[test]
    fn a_seed_means_one_program() {
        assert_eq!(program(7, Profile::default()), program(7, Profile::default()));
        assert_ne!(program(7, Profile::default()), program(8, Profile::default()));
    }
}
