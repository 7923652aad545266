//! Tables and their changes.

use super::{COUNTERS, ProgramGenerator};

impl ProgramGenerator {
    pub(super) fn create(&mut self) -> String {
        let mut line = String::from("create");
        for at in 0..self.families.len() {
            line += &format!(" {}", self.family_declaration(self.families[at]));
        }
        if self.counters {
            line += &format!(" {COUNTERS}:VERSIONS=1");
        }
        if self.profile.schema && self.rng.one_in(3) {
            let splits = [&["b"][..], &["ab"], &["aa", "b\\x00"], &["b", "c"]][self.rng.below(4)];
            line += &splits.iter().map(|row| format!(" split={row}")).collect::<String>();
        }
        line
    }

    fn family_declaration(&mut self, name: &str) -> String {
        let mut attributes = Vec::new();
        let versions = if self.profile.left_in_memory && self.deletes {
            "all"
        } else {
            self.rng.pick(&["1", "2", "2", "3", "5", "all"])
        };
        attributes.push(format!("VERSIONS={versions}"));
        if !self.profile.left_in_memory {
            self.lifetime(versions, &mut attributes);
        }
        if self.rng.one_in(3) {
            attributes.push(format!("BLOOMFILTER={}", self.rng.pick(&["NONE", "ROW", "ROWCOL"])));
        }
        if self.rng.one_in(4) {
            attributes.push("BLOCKSIZE=1024".to_string());
        }
        if self.new_versions {
            attributes.push("NEW_VERSION_BEHAVIOR=true".to_string());
        }
        format!("{name}:{}", attributes.join(","))
    }

    /// Adds retention attributes. All small timestamps are older than any TTL, so that clocks do
    /// not matter.
    fn lifetime(&mut self, versions: &str, attributes: &mut Vec<String>) {
        match self.rng.below(4) {
            0 => attributes.push("KEEP_DELETED=TRUE".into()),
            1 => attributes.push("KEEP_DELETED=TTL".into()),
            _ => {}
        }
        if versions != "1" && self.rng.one_in(6) {
            attributes.push("MIN_VERSIONS=1".into());
            attributes.push("TTL=1000".into());
        }
    }

    pub(super) fn change(&mut self) -> String {
        match self.rng.below(8) {
            0 => "truncate".into(),
            1 | 2 if !self.profile.left_in_memory => {
                let family = self.real_family();
                format!("alter {}", self.family_declaration(family))
            }
            _ if self.merges => format!("merge {}", self.row()),
            _ => format!("split {}", self.rng.pick(&["aa", "ab", "b", "b\\x00", "c"])),
        }
    }
}
