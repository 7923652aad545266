//! Random damage to one file of a store.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Damage to a file. Offsets are drawn in advance, so that it can be printed and repeated.
#[derive(Clone, Debug)]
pub(super) struct FileDamage {
    /// Path relative to the root of the store.
    pub(super) file: String,
    pub(super) kind: DamageKind,
}

/// Kind of damage.
#[derive(Clone, Debug)]
pub(super) enum DamageKind {
    /// A flipped bit.
    Bit { offset: usize, bit: u8 },
    /// A changed byte.
    Byte { offset: usize, by: u8 },
    /// Some overwritten bytes.
    Fill { from: usize, bytes: usize, with: u8 },
    /// A missing end.
    Truncate { to: usize },
    /// Additional bytes at the end.
    Append { bytes: Vec<u8> },
    /// Two swapped ranges.
    Swap { one: usize, other: usize, bytes: usize },
    /// Contents exchanged with another file.
    Exchange { other: String },
    /// A copy under another name.
    Duplicate { as_name: String },
    /// A missing file.
    Remove,
    /// A renamed file.
    Rename { to: String },
}

/// Returns the purpose of a file.
fn class(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ends = |end: &str| name.ends_with(end);
    match path.split('/').next() {
        Some("manifests") => "copy of the manifest",
        Some("archive") => "archived store file",
        _ if name == "MANIFEST" => "manifest",
        _ if name == "LOCK" => "lock",
        _ if ends(".wal") => "log segment",
        _ if ends(".nonces") => "nonces",
        _ if path.contains("/quarantine/") => "quarantine",
        _ if name.starts_with(".tableinfo") || name == ".regioninfo" => "descriptor",
        _ if name.starts_with("hbase.") => "identity",
        _ if name.len() == 32 || name.contains("_SeqId_") => "store file",
        _ => "link or reference",
    }
}

impl FileDamage {
    /// Draws a file and its damage.
    pub(super) fn choose(root: &Path, rng: &mut fastrand::Rng) -> io::Result<Self> {
        let files = files(root)?;
        // Chooses a class first: there are many more store files than manifests.
        let mut classes: Vec<&str> = files.iter().map(|file| class(file)).collect();
        classes.sort_unstable();
        classes.dedup();
        // Files with rows are chosen more often.
        let chosen = match rng.u32(..4) {
            0 if classes.contains(&"log segment") => "log segment",
            0 | 1 if classes.contains(&"store file") => "store file",
            _ => classes[rng.usize(..classes.len())],
        };
        let of_class: Vec<&String> = files.iter().filter(|file| class(file) == chosen).collect();
        let file = of_class[rng.usize(..of_class.len())].clone();
        let length = usize::try_from(fs::metadata(root.join(&file))?.len()).unwrap_or(usize::MAX);
        let deed = DamageKind::choose(&file, length, &of_class, rng);
        Ok(Self { file, kind: deed })
    }

    /// Applies the damage.
    pub(super) fn apply(&self, root: &Path) -> io::Result<()> {
        let path = root.join(&self.file);
        let change = |by: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = fs::read(&path)?;
            by(&mut bytes);
            fs::write(&path, bytes)
        };
        match &self.kind {
            DamageKind::Bit { offset, bit } => change(&|bytes| bytes[*offset] ^= 1 << bit),
            DamageKind::Byte { offset, by } => change(&|bytes| bytes[*offset] ^= by),
            DamageKind::Fill { from, bytes: several, with } => {
                change(&|bytes| bytes[*from..*from + *several].fill(*with))
            }
            DamageKind::Truncate { to } => change(&|bytes| bytes.truncate(*to)),
            DamageKind::Append { bytes: more } => change(&|bytes| bytes.extend_from_slice(more)),
            DamageKind::Swap { one, other, bytes: several } => change(&|bytes| {
                let (before, after) = bytes.split_at_mut(*other);
                before[*one..*one + *several].swap_with_slice(&mut after[..*several]);
            }),
            DamageKind::Exchange { other } => {
                let (one, two) = (fs::read(&path)?, fs::read(root.join(other))?);
                fs::write(&path, two)?;
                fs::write(root.join(other), one)
            }
            DamageKind::Duplicate { as_name } => fs::copy(&path, root.join(as_name)).map(drop),
            DamageKind::Remove => fs::remove_file(&path),
            DamageKind::Rename { to } => fs::rename(&path, root.join(to)),
        }
    }

    /// Returns the purpose of the file.
    pub(super) fn class(&self) -> &'static str {
        class(&self.file)
    }
}

impl DamageKind {
    fn choose(file: &str, length: usize, alike: &[&String], rng: &mut fastrand::Rng) -> Self {
        let other = alike[rng.usize(..alike.len())];
        match rng.u32(..16) {
            12 if other != file => return Self::Exchange { other: other.clone() },
            13 => return Self::Duplicate { as_name: neighbour(file, rng) },
            14 => return Self::Remove,
            15 => return Self::Rename { to: neighbour(file, rng) },
            11 => {
                return Self::Append {
                    bytes: (0..rng.usize(1..200))
                        .map(|_| if rng.bool() { 0 } else { rng.u8(..) })
                        .collect(),
                };
            }
            _ if length == 0 => return Self::Remove,
            _ => {}
        }
        let offset = rng.usize(..length);
        let several = rng.usize(1..=(length - offset).min(600));
        match rng.u32(..11) {
            0..4 => Self::Bit { offset, bit: rng.u8(..8) },
            4 | 5 => Self::Byte { offset, by: rng.u8(1..) },
            6 | 7 => Self::Fill {
                from: offset,
                bytes: several,
                with: if rng.u32(..3) == 0 { 0xff } else { 0 },
            },
            8 | 9 => Self::Truncate { to: offset },
            _ if length < 4 => Self::Truncate { to: offset },
            _ => {
                let bytes = rng.usize(1..=(length / 2).min(300));
                let one = rng.usize(..=length - 2 * bytes);
                Self::Swap { one, other: rng.usize(one + bytes..=length - bytes), bytes }
            }
        }
    }
}

/// Returns a name in the same directory that another file of its kind could have.
fn neighbour(file: &str, rng: &mut fastrand::Rng) -> String {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let join = |name: String| if folder.is_empty() { name } else { format!("{folder}/{name}") };
    let (stem, end) = name.split_once('.').unwrap_or((name, ""));
    match (name.len(), stem.parse::<u64>()) {
        // The next or the previous number, or a higher one.
        (_, Ok(number)) if stem.len() == 16 => join(format!(
            "{:016}.{end}",
            [number + 1, number.saturating_sub(1), number + 5][rng.usize(..3)]
        )),
        (32, _) => join(format!("{:016x}{:016x}", rng.u64(..), rng.u64(..))),
        _ => join(format!("{name}{}", ["~", ".bak", "1"][rng.usize(..3)])),
    }
}

/// Returns the relative paths of all files below a directory, in order.
fn files(root: &Path) -> io::Result<Vec<String>> {
    let (mut found, mut to_visit) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = to_visit.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                to_visit.push(path);
            } else {
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

impl fmt::Display for FileDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, kind: deed } = self;
        match deed {
            DamageKind::Bit { offset, bit } => {
                write!(f, "{file}: bit {bit} of byte {offset} flipped")
            }
            DamageKind::Byte { offset, by } => {
                write!(f, "{file}: byte {offset} changed by {by:#x}")
            }
            DamageKind::Fill { from, bytes, with } => {
                write!(f, "{file}: {bytes} bytes at {from} filled with {with:#x}")
            }
            DamageKind::Truncate { to } => write!(f, "{file}: truncated to {to} bytes"),
            DamageKind::Append { bytes } => {
                write!(f, "{file}: {} bytes appended: {bytes:x?}", bytes.len())
            }
            DamageKind::Swap { one, other, bytes } => {
                write!(f, "{file}: {bytes} bytes at {one} and at {other} swapped")
            }
            DamageKind::Exchange { other } => write!(f, "{file}: swapped with {other}"),
            DamageKind::Duplicate { as_name } => write!(f, "{file}: copied to {as_name}"),
            DamageKind::Remove => write!(f, "{file}: removed"),
            DamageKind::Rename { to } => write!(f, "{file}: renamed to {to}"),
        }
    }
}
