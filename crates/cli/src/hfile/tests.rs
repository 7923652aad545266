//! Dumps, metadata and checks of sample files written by HBase.
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{check, dump, info, open};

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/testdata/hfile")
}

fn sample(name: &str) -> PathBuf {
    samples().join(format!("{name}.hfile"))
}

fn text(write: impl FnOnce(&mut Vec<u8>) -> anyhow::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn dump_matches_hbase_output() {
    let mut compared = 0;
    for entry in std::fs::read_dir(samples()).unwrap() {
        let path = entry.unwrap().path();
        let Ok(reader) = (if path.extension().is_some_and(|end| end == "hfile") {
            open(&path)
        } else {
            continue;
        }) else {
            continue;
        };
        let Ok(packed) = std::fs::read(path.with_extension("tsv.gz")) else { continue };
        let mut golden = String::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut golden).unwrap();
        assert_eq!(text(|out| dump::write(out, reader, true)), golden, "{}", path.display());
        compared += 1;
    }
    assert!(compared >= 24, "only {compared} samples could be opened");
}

#[test]
fn readable_dump_names_types_and_columns() {
    let dump = text(|out| dump::write(out, open(&sample("tiny-none-tags")).unwrap(), false));
    assert!(
        dump.starts_with(
            "row1 f:col1 timestamp=1700000000005 Put sequence=7 tags=00040874746c value=AAAA\n"
        ),
        "{dump}"
    );
    assert!(dump.contains(" DeleteColumn sequence=9 "), "{dump}");
}

#[test]
fn info_lists_properties_of_file() {
    let facts = text(|out| info::write(out, &open(&sample("index-4level")).unwrap()));
    for line in [
        "  data index      4 levels",
        "  bloom filter    of rows",
        "HFile v3, compression NONE",
        "  first key       k",
        "intermediate index block",
    ] {
        assert!(facts.contains(line), "{line}:\n{facts}");
    }
}

#[test]
fn check_reports_ok_or_error_with_location() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = std::fs::read(sample("tiny-none")).unwrap();
    bytes[100] ^= 4;
    let damaged = folder.path().join("damaged");
    std::fs::write(&damaged, bytes).unwrap();
    let run = |files: &[PathBuf]| {
        let mut out = Vec::new();
        let code = check::write(&mut out, files).unwrap();
        (code == ExitCode::SUCCESS, String::from_utf8(out).unwrap())
    };
    let (ok, said) = run(&[sample("tiny-none")]);
    assert!(
        ok && said.ends_with(
            "tiny-none.hfile: ok: 5 cells in 3 rows, 6 blocks, an index of 1 level, 5 bloom \
             look-ups, 5.0 KiB\n"
        ),
        "{said}"
    );
    let (ok, said) = run(&[sample("bloom-row"), damaged, folder.path().join("missing")]);
    assert!(!ok, "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines[0].contains("bloom-row.hfile: ok: ") && lines[0].contains(" bloom look-ups"),
        "{said}"
    );
    assert!(
        lines[1].contains("damaged: data block at 0: CRC32C of its bytes")
            && lines[1].contains("restore it"),
        "{said}"
    );
    assert!(
        lines[2].contains(
            "missing: give the path of a file in data/NAMESPACE/TABLE/REGION/FAMILY/: No such file"
        ),
        "{said}"
    );
}

#[test]
fn foreign_file_and_directory_are_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let error = |path: &Path| format!("{:#}", open(path).err().unwrap());
    for bytes in [&b"hello\n"[..], &[], &[7; 9000]] {
        std::fs::write(&path, bytes).unwrap();
        assert!(
            error(&path)
                .ends_with("notes.txt: this is no HFile: it neither begins nor ends as one")
        );
    }
    let whole = std::fs::read(sample("bloom-row")).unwrap();
    for cut in [&whole[..whole.len() - 1], &whole[1..]] {
        std::fs::write(&path, cut).unwrap();
        assert!(error(&path).contains("the file is damaged"), "{}", error(&path));
    }
    assert!(error(folder.path()).ends_with("this is a directory; give the path of a file in it"));
}
