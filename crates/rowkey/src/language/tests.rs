//! What is printed reads back, whatever the schema; mistakes are shown where they are; no text does harm.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::TEXT_BYTES_MAX;
use super::random::{Chance, schema};
use crate::schema::KeySchema;

fn read(text: &str) -> KeySchema {
    text.parse().unwrap_or_else(|error: super::LanguageError| panic!("{text}\n{}", error.render(text)))
}

fn cases() -> u64 {
    std::env::var("HALITE_ROWKEY_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(100_000)
}

#[test]
fn every_schema_reads_back_from_its_text() {
    let seed = std::env::var("HALITE_ROWKEY_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    for case in 0..cases() {
        let schema = schema(&mut Chance::new(seed + case));
        let text = schema.to_text();
        let again = text.parse::<KeySchema>().unwrap_or_else(|error| panic!("HALITE_ROWKEY_SEED={}:\n{}", seed + case, error.render(&text)));
        assert_eq!(again, schema, "HALITE_ROWKEY_SEED={}: {text}", seed + case);
        assert_eq!(again.to_text(), text, "HALITE_ROWKEY_SEED={}", seed + case);
    }
}

#[test]
fn a_text_with_a_byte_changed_is_read_or_refused_and_shown() {
    for case in 0..cases() / 5 {
        let mut chance = Chance::new(case);
        let mut text = schema(&mut chance).to_text().into_bytes();
        for _ in 0..=chance.below(3) {
            let at = usize::try_from(chance.below(text.len() as u64)).unwrap();
            match chance.below(3) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, b"'\"(){}:,x0 \n\xc3"[usize::try_from(chance.below(13)).unwrap()]),
                _ => text[at] = b"'\"(){}:,x0 \n\xc3"[usize::try_from(chance.below(13)).unwrap()],
            }
            if text.is_empty() {
                break;
            }
        }
        let text = String::from_utf8_lossy(&text);
        match text.parse::<KeySchema>() {
            Ok(schema) => assert_eq!(read(&schema.to_text()), schema, "{text}"),
            Err(error) => assert!(error.span.start <= error.span.end && error.span.end <= text.len() && error.render(&text).contains('^'), "{text}"),
        }
    }
}

#[test]
fn hostile_texts_are_refused_at_once() {
    let began = Instant::now();
    let long = format!("ROW KEY ({})", "a STRING, ".repeat(1 << 20));
    assert!(long.parse::<KeySchema>().unwrap_err().message.contains("at most 65536"));
    let texts = [
        "(".repeat(TEXT_BYTES_MAX),
        format!("ROW KEY {}", "(".repeat(60_000)),
        format!("ROW KEY (SALT({}", "SALT(".repeat(12_000)),
        format!("ROW KEY ({}a STRING)", "b STRING, ".repeat(6_000)),
        format!("ROW KEY TEXT '{}'", "{rev(".repeat(12_000)),
        format!("ROW KEY TEXT '{}'", "{a}".repeat(20_000)),
        format!("ROW KEY TEXT '{{{}}}'", "''".repeat(30_000)),
        format!("ROW KEY TEXT '{}", "''".repeat(30_000)),
        format!("ROW KEY TEXT '{{a}}' WHERE a MATCHES '{}'", "(((a{99}){99}){99}){99}"),
        format!("ROW KEY (HASH({}a), a STRING)", "a,".repeat(30_000)),
        "/*".repeat(30_000),
        "ROW KEY (a CHAR(99999999999999999999))".into(),
        "ROW KEY (SALT(18446744073709551616), a STRING)".into(),
    ];
    for text in texts {
        let error = text.parse::<KeySchema>().expect_err(&text[..text.len().min(80)]);
        assert!(error.render(&text).len() < 2_000, "{}", error.render(&text).len());
    }
    // Seconds would mean that some step is quadratic; the time itself is not what is tested.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

/// Blocks of `testdata/NAME`: a text, a line of dashes, and what `answer` makes of the text; blocks end with a line `====`.
fn golden(name: &str, answer: impl Fn(&str) -> String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    let wanted = std::fs::read_to_string(&path).unwrap();
    let mut found = String::new();
    for block in wanted.split_inclusive("====\n") {
        let (text, _) = block.split_once("\n----\n").unwrap_or_else(|| panic!("{}: a block has no ----:\n{block}", path.display()));
        writeln!(found, "{text}\n----\n{}\n====", answer(text)).unwrap();
    }
    if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    assert!(found == wanted || std::env::var_os("HALITE_UPDATE_GOLDEN").is_some(), "{}:\n{found}", path.display());
}

#[test]
fn mistakes_are_shown_as_in_the_golden_file() {
    golden("key_mistakes.txt", |text| match text.parse::<KeySchema>() {
        Ok(schema) => panic!("no mistake: {schema}"),
        Err(error) => error.render(text),
    });
}

#[test]
fn keys_are_printed_as_in_the_golden_file() {
    golden("keys.txt", |text| read(text).to_text());
}
