//! A few photos, and the move of their directory: `cargo run -p halite-example-files [DIR]`.

use std::io::Write as _;

use files::{Files, Kind, Node, ROOT};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).map_or_else(
        || std::env::temp_dir().join(format!("halite-files-{}", std::process::id())),
        Into::into,
    );
    let store = halite::open(directory)?;
    let files = Files::open(&store, "files")?;
    let node = |id, parent, name: &str, kind, size| Node {
        id,
        parent,
        name: name.to_owned(),
        kind,
        owner: "ada".to_owned(),
        size,
        version: 0,
    };
    files.create(&[node(1, ROOT, "photos", Kind::Directory, 0)])?;
    files.create(&[node(2, ROOT, "archive", Kind::Directory, 0)])?;
    files.create(&[node(3, 1, "2024", Kind::Directory, 0)])?;
    let created = files.create(&[
        node(10, 3, "cat.jpg", Kind::File, 40_000),
        node(11, 3, "dog.jpg", Kind::File, 50_000),
        // The name is taken.
        node(12, 3, "cat.jpg", Kind::File, 60_000),
    ])?;

    let mut out = std::io::stdout().lock();
    writeln!(out, "created: {created:?}")?;
    writeln!(out, "/photos/2024/cat.jpg is {:?}", files.find("/photos/2024/cat.jpg")?)?;
    // The directory, with all that is in it: as many rows as for an empty one.
    let moved = files.move_to(3, 2, "old photos")?;
    let inside_itself = files.move_to(2, 3, "archive")?;
    writeln!(out, "moved: {moved}; into itself: {inside_itself}")?;
    writeln!(
        out,
        "/archive/old photos/cat.jpg is {:?}",
        files.find("/archive/old photos/cat.jpg")?
    )?;
    let mut bytes = 0;
    for found in files.walk(ROOT)? {
        let (depth, entry) = found?;
        bytes += entry.size;
        writeln!(out, "  {:depth$}{} {}", "", entry.name, entry.size, depth = 2 * depth)?;
    }
    writeln!(out, "{bytes} bytes in all")?;
    let page = files.of_owner("ada", None, 10, None)?;
    let names: Vec<&str> = page.items.iter().map(|entry| &entry.name[..]).collect();
    writeln!(out, "files of ada: {names:?}")?;
    Ok(store.close()?)
}
