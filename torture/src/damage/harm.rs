//! What is done to one file of a store, by chance.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What is done to which file. Offsets are drawn before, so that it can be told and done again.
#[derive(Clone, Debug)]
pub(super) struct Harm {
    /// The path, from the root of the store.
    pub(super) file: String,
    pub(super) deed: Deed,
}

/// What is done.
#[derive(Clone, Debug)]
pub(super) enum Deed {
    /// A bit is another one.
    Bit { at: usize, bit: u8 },
    /// A byte is another one.
    Byte { at: usize, by: u8 },
    /// Some bytes are something else.
    Fill { from: usize, bytes: usize, with: u8 },
    /// The end is gone.
    Cut { to: usize },
    /// There is more at the end.
    Longer { bytes: Vec<u8> },
    /// Two pieces have changed places.
    Swap { one: usize, other: usize, bytes: usize },
    /// It contains what another file contains, and that one what it did.
    Exchange { other: String },
    /// Another file contains the same.
    Double { as_name: String },
    /// It is gone.
    Remove,
    /// It has another name.
    Rename { to: String },
}

/// What a file is for.
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

impl Harm {
    /// Draws a file and what becomes of it.
    pub(super) fn choose(root: &Path, rng: &mut fastrand::Rng) -> io::Result<Self> {
        let files = files(root)?;
        // A class first: there are many more store files than manifests.
        let mut classes: Vec<&str> = files.iter().map(|file| class(file)).collect();
        classes.sort_unstable();
        classes.dedup();
        // Where rows are, more often.
        let chosen = match rng.u32(..4) {
            0 if classes.contains(&"log segment") => "log segment",
            0 | 1 if classes.contains(&"store file") => "store file",
            _ => classes[rng.usize(..classes.len())],
        };
        let of_class: Vec<&String> = files.iter().filter(|file| class(file) == chosen).collect();
        let file = of_class[rng.usize(..of_class.len())].clone();
        let length = usize::try_from(fs::metadata(root.join(&file))?.len()).unwrap_or(usize::MAX);
        let deed = Deed::choose(&file, length, &of_class, rng);
        Ok(Self { file, deed })
    }

    /// Does it.
    pub(super) fn carry_out(&self, root: &Path) -> io::Result<()> {
        let path = root.join(&self.file);
        let change = |by: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = fs::read(&path)?;
            by(&mut bytes);
            fs::write(&path, bytes)
        };
        match &self.deed {
            Deed::Bit { at, bit } => change(&|bytes| bytes[*at] ^= 1 << bit),
            Deed::Byte { at, by } => change(&|bytes| bytes[*at] ^= by),
            Deed::Fill { from, bytes: several, with } => change(&|bytes| bytes[*from..*from + *several].fill(*with)),
            Deed::Cut { to } => change(&|bytes| bytes.truncate(*to)),
            Deed::Longer { bytes: more } => change(&|bytes| bytes.extend_from_slice(more)),
            Deed::Swap { one, other, bytes: several } => change(&|bytes| {
                let (before, after) = bytes.split_at_mut(*other);
                before[*one..*one + *several].swap_with_slice(&mut after[..*several]);
            }),
            Deed::Exchange { other } => {
                let (one, two) = (fs::read(&path)?, fs::read(root.join(other))?);
                fs::write(&path, two)?;
                fs::write(root.join(other), one)
            }
            Deed::Double { as_name } => fs::copy(&path, root.join(as_name)).map(drop),
            Deed::Remove => fs::remove_file(&path),
            Deed::Rename { to } => fs::rename(&path, root.join(to)),
        }
    }

    /// What the file is for.
    pub(super) fn class(&self) -> &'static str {
        class(&self.file)
    }
}

impl Deed {
    fn choose(file: &str, length: usize, alike: &[&String], rng: &mut fastrand::Rng) -> Self {
        let other = alike[rng.usize(..alike.len())];
        match rng.u32(..16) {
            12 if other != file => return Self::Exchange { other: other.clone() },
            13 => return Self::Double { as_name: neighbour(file, rng) },
            14 => return Self::Remove,
            15 => return Self::Rename { to: neighbour(file, rng) },
            11 => return Self::Longer { bytes: (0..rng.usize(1..200)).map(|_| if rng.bool() { 0 } else { rng.u8(..) }).collect() },
            _ if length == 0 => return Self::Remove,
            _ => {}
        }
        let at = rng.usize(..length);
        let several = rng.usize(1..=(length - at).min(600));
        match rng.u32(..11) {
            0..4 => Self::Bit { at, bit: rng.u8(..8) },
            4 | 5 => Self::Byte { at, by: rng.u8(1..) },
            6 | 7 => Self::Fill { from: at, bytes: several, with: if rng.u32(..3) == 0 { 0xff } else { 0 } },
            8 | 9 => Self::Cut { to: at },
            _ if length < 4 => Self::Cut { to: at },
            _ => {
                let bytes = rng.usize(1..=(length / 2).min(300));
                let one = rng.usize(..=length - 2 * bytes);
                Self::Swap { one, other: rng.usize(one + bytes..=length - bytes), bytes }
            }
        }
    }
}

/// A name beside a file that another of its kind could have.
fn neighbour(file: &str, rng: &mut fastrand::Rng) -> String {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let join = |name: String| if folder.is_empty() { name } else { format!("{folder}/{name}") };
    let (stem, end) = name.split_once('.').unwrap_or((name, ""));
    match (name.len(), stem.parse::<u64>()) {
        // The next or the previous number, or one further up.
        (_, Ok(number)) if stem.len() == 16 => join(format!("{:016}.{end}", [number + 1, number.saturating_sub(1), number + 5][rng.usize(..3)])),
        (32, _) => join(format!("{:016x}{:016x}", rng.u64(..), rng.u64(..))),
        _ => join(format!("{name}{}", ["~", ".bak", "1"][rng.usize(..3)])),
    }
}

/// All files below a directory, from it, in order.
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

impl fmt::Display for Harm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, deed } = self;
        match deed {
            Deed::Bit { at, bit } => write!(f, "{file}: bit {bit} of byte {at} flipped"),
            Deed::Byte { at, by } => write!(f, "{file}: byte {at} changed by {by:#x}"),
            Deed::Fill { from, bytes, with } => write!(f, "{file}: {bytes} bytes from {from} on filled with {with:#x}"),
            Deed::Cut { to } => write!(f, "{file}: cut to {to} bytes"),
            Deed::Longer { bytes } => write!(f, "{file}: {} bytes appended: {bytes:x?}", bytes.len()),
            Deed::Swap { one, other, bytes } => write!(f, "{file}: {bytes} bytes from {one} and from {other} on swapped"),
            Deed::Exchange { other } => write!(f, "{file}: exchanged with {other}"),
            Deed::Double { as_name } => write!(f, "{file}: copied to {as_name}"),
            Deed::Remove => write!(f, "{file}: removed"),
            Deed::Rename { to } => write!(f, "{file}: renamed to {to}"),
        }
    }
}
