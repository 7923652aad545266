//! Tables, and what is done to them beside their rows.

use super::{COUNTERS, Maker};

impl Maker {
    pub(super) fn create(&mut self) -> String {
        let mut line = String::from("create");
        for at in 0..self.families.len() {
            line += &format!(" {}", self.family_of(self.families[at]));
        }
        if self.counters {
            line += &format!(" {COUNTERS}:VERSIONS=1");
        }
        if self.profile.schema && self.chance.one_in(3) {
            let splits = [&["b"][..], &["ab"], &["aa", "b\\x00"], &["b", "c"]][self.chance.below(4)];
            line += &splits.iter().map(|row| format!(" split={row}")).collect::<String>();
        }
        line
    }

    fn family_of(&mut self, name: &str) -> String {
        let mut attributes = Vec::new();
        let versions = if self.profile.placed_apart && self.deletes { "all" } else { self.chance.pick(&["1", "2", "2", "3", "5", "all"]) };
        attributes.push(format!("VERSIONS={versions}"));
        if !self.profile.placed_apart {
            self.lifetime(versions, &mut attributes);
        }
        if self.chance.one_in(3) {
            attributes.push(format!("BLOOMFILTER={}", self.chance.pick(&["NONE", "ROW", "ROWCOL"])));
        }
        if self.chance.one_in(4) {
            attributes.push("BLOCKSIZE=1024".to_string());
        }
        if self.new_versions {
            attributes.push("NEW_VERSION_BEHAVIOR=true".to_string());
        }
        format!("{name}:{}", attributes.join(","))
    }

    /// All small timestamps are older than any time to live, so that there are no clocks to agree about.
    fn lifetime(&mut self, versions: &str, attributes: &mut Vec<String>) {
        match self.chance.below(4) {
            0 => attributes.push("KEEP_DELETED=TRUE".into()),
            1 => attributes.push("KEEP_DELETED=TTL".into()),
            _ => {}
        }
        if versions != "1" && self.chance.one_in(6) {
            attributes.push("MIN_VERSIONS=1".into());
            attributes.push("TTL=1000".into());
        }
    }

    pub(super) fn change(&mut self) -> String {
        match self.chance.below(8) {
            0 => "truncate".into(),
            1 | 2 if !self.profile.placed_apart => {
                let family = self.real_family();
                format!("alter {}", self.family_of(family))
            }
            _ if self.merges => format!("merge {}", self.row()),
            _ => format!("split {}", self.chance.pick(&["aa", "ab", "b", "b\\x00", "c"])),
        }
    }
}
