//! `halite key` with declarations on the command line, in files, and from tables on a server.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rustix::process::Signal;

use crate::program::{self, output_of};
use crate::serve::TestServer;

const SENSORS: &str = "(SALT(16 BY device_id), device_id STRING, ts TIMESTAMP DESC)";

/// Runs `halite key` as [`halite`].
fn key(arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    halite(&[&["key"], arguments].concat(), input)
}

/// Runs `halite`: its exit code, output and errors.
fn halite(arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let output = output_of(program::halite().args(arguments), input);
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn key_is_encoded_and_decoded_by_declaration() {
    let (code, stdout, _) =
        key(&["encode", "--key", SENSORS, "device_id=sensor_00001", "ts=2024-03-15"], "");
    assert_eq!(code, Some(0));
    for wanted in [
        "\\x01sensor_00001\\x00\\x01\\x7F\\xFF\\xFEq\\xC0\\x97s\\xFF\n",
        "x'0173656e736f725f303030303100017ffffe71c09773ff', 23 bytes",
    ] {
        assert!(stdout.contains(wanted), "no {wanted}:\n{stdout}");
    }
    let keys = format!("{}\nabc\n", stdout.lines().next().unwrap());
    let (code, stdout, _) = key(&["decode", "--key", SENSORS], &keys);
    assert_eq!(code, Some(1), "one of them is no key");
    assert!(
        stdout.starts_with("device_id = 'sensor_00001', ts = 2024-03-15T00:00:00Z\nabc: "),
        "{stdout}"
    );
}

/// Bytes were read in one way here and in another there, and blanks at the end of a key were lost.
#[test]
fn keys_and_values_parse_alike_in_all_inputs() {
    let (_, stdout, errors) =
        key(&["encode", "--key", "(a STRING, n U8)"], "a='x y' n=1\na=p,q n=2\n");
    assert_eq!(stdout, "x y\\x00\\x01\\x01\np\\x00\\x01\\x02\nq\\x00\\x01\\x02\n", "{errors}");
    let (_, _, errors) = key(&["encode", "--key", "(a STRING, n U8)"], "a=ok n=1\na=x* n=1\n");
    assert!(errors.contains("line 2: a: ") && errors.contains("only a prefix"), "{errors}");
    assert_eq!(key(&["decode", "--key", "(a STRING)", "X'6162'"], "").1, "a = 'ab'\n");
    let (code, _, errors) = key(&["decode", "--key", "(a STRING)", "x'01"], "");
    assert!(code != Some(0) && errors.contains("pairs of hexadecimal digits"), "{errors}");
    assert_eq!(
        key(&["decode", "--key", "(b BYTES)"], "ab \r\nx'00'\n").1,
        "b = x'616220'\nb = x'00'\n"
    );
    let sample = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(sample.path(), "\u{feff}x'41'\n\\x42\nC\nX'44'\n").unwrap();
    let clause = format!("FROM SAMPLE '{}' INTO 2", sample.path().display());
    assert_eq!(
        key(&["split", "--key", "(b BYTES)", "--shell", &clause], "").1,
        "SPLITS => [\"C\"]\n"
    );
}

#[test]
fn invalid_row_keys_appear_only_in_unconditional_scan() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let lines = "CREATE TABLE mf (v STRING FAMILY d QUALIFIER v, ROW KEY (a STRING, n U8));\n\
                 put 'mf', \"a05\\x00\\x01\\x01\", 'd:v', '1'\n\
                 put 'mf', \"a05\\x00\\x01\\x02\", 'd:v', '2'\nput 'mf', 'a055', 'd:v', '3'\n";
    let (code, _, errors) = halite(&["shell", "-n", "--data", data], lines);
    assert_eq!(code, Some(0), "{errors}");
    let scan = |more: &[&str]| key(&[&["scan", "mf", "--data", data], more].concat(), "").1;
    let output = scan(&["a=a05..a06"]);
    assert!(
        output.contains("2 row(s), ")
            && output.contains("left out 1 row(s) that are no keys")
            && !output.contains("d:v=3"),
        "{output}"
    );
    let all = scan(&[]);
    assert!(
        all.contains("3 row(s), ")
            && all.contains("1 of these row(s) are no keys")
            && all.contains("a055  d:v=3"),
        "{all}"
    );
    // The row after the last one is read only to determine whether more rows follow.
    let few = scan(&["--limit", "2"]);
    assert!(
        few.contains("2 row(s), ")
            && few.contains("more rows follow")
            && !few.contains("of these row(s) are no keys"),
        "{few}"
    );
}

/// Regression test: a two-byte letter before a qualifier ended lint, and a key after a comment was
/// not recognized.
#[test]
fn lint_reads_multibyte_letters_and_keys_after_comments() {
    let create = "CREATE TABLE t (v BYTES FAMILY d QUALIFIER \"\u{e4}hnlich\", ROW KEY (a STRING, \
                  b STRING));\n";
    let (code, stdout, errors) = key(&["lint", "-"], create);
    assert!(code == Some(0) && stdout.contains("F-LONGQ"), "{stdout}{errors}");
    let (code, stdout, errors) =
        key(&["lint", "-"], "\u{feff}/* a key */ ROW  KEY (ts TIMESTAMP, a STRING)\n");
    assert!(code == Some(1) && stdout.contains("K-MONO"), "{stdout}{errors}");
    let (code, _, errors) = key(&["lint", "--explain", "K-MONO", "--format", "json"], "");
    assert!(code != Some(0) && errors.contains("cannot be used with"), "{errors}");
}

#[test]
fn table_is_declared_by_answering_seven_questions() {
    let answers = "orders\n\ntotal, status\n\ntotal=DECIMAL\n3\n\
                   SALT(16 BY customer), customer STRING, at TIMESTAMP DESC\ncustomer = ?\n\n";
    let (code, stdout, prompts) = key(&["new"], answers);
    assert_eq!(code, Some(0), "{prompts}");
    assert!(
        stdout.starts_with("CREATE TABLE orders (") && stdout.contains("SPLIT BY SALT;\n-- "),
        "{stdout}"
    );
    assert!(prompts.contains("1 of 7") && prompts.contains("7 of 7"), "{prompts}");
    let (code, again, _) = key(&["lint", "-"], &stdout);
    assert_eq!(code, Some(0), "what it prints is what lint reads: {again}");
    let (code, _, errors) = key(&["new"], "orders\n\n");
    assert_eq!(code, Some(1));
    assert!(errors.contains("the answers end before the one about key"), "{errors}");
}

#[test]
fn errors_point_at_wrong_text() {
    let (_, _, errors) = key(&["encode", "--key", "(SALT(16 BY a), a STRNG)", "a=b"], "");
    assert!(errors.contains("^^^^^ did you mean STRING?"), "{errors}");
    let (_, _, errors) = key(&["encode", "--key", SENSORS, "device=a"], "");
    assert!(errors.contains("its fields are device_id, ts"), "{errors}");
    let (_, _, errors) = key(&["encode", "--key", SENSORS, "device_id=a", "ts=soon"], "");
    assert!(errors.contains("ts: \"soon\" is no TIMESTAMP; 2024-03-15T08:00:00Z"), "{errors}");
    let (_, _, errors) = key(&["encode", "--key", SENSORS, "device_id=a"], "");
    assert!(errors.contains("field ts: ") && errors.contains("the value is null"), "{errors}");
}

#[test]
fn rolling_split_table_starts_with_present_and_future_regions() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let create = "CREATE TABLE metrics (v DOUBLE FAMILY d, ROW KEY (SALT(2 BY host), day DATE, \
                  host STRING)) SPLIT ROLLING '1d';\n";
    let (code, _, errors) = halite(&["shell", "-n", "--data", data], create);
    assert_eq!(code, Some(0), "{errors}");
    // The day may have changed since then.
    let (code, stdout, errors) = key(&["presplit", "metrics", "--data", data], "");
    assert!(
        code == Some(0)
            && (stdout.contains("0 regions made, 6 were there")
                || stdout.contains("2 regions made, 4 were there")),
        "{stdout}{errors}"
    );
    let bad = "CREATE TABLE users (v DOUBLE FAMILY d, ROW KEY (id STRING)) SPLIT ROLLING '1d';\n";
    let (code, stdout, errors) = halite(&["shell", "-n", "--data", data], bad);
    assert!(
        code == Some(1)
            && format!("{stdout}{errors}").contains("needs a key that begins with a time"),
        "{stdout}{errors}"
    );
}

#[test]
fn explain_uses_skip_scan_for_known_small_fields() {
    let key_of = "ROW KEY (region STRING, user U64)";
    let (_, stdout, _) = key(&["explain", "--key", key_of, "user=5"], "");
    assert!(stdout.contains("Q-FULL") && !stdout.contains("skip scan"), "{stdout}");
    let (_, stdout, _) =
        key(&["explain", "--key", key_of, "--distinct", "region=12", "user=5"], "");
    assert!(stdout.contains("skip scan: about 12 values of region"), "{stdout}");
    let (code, _, errors) =
        key(&["explain", "--key", key_of, "--distinct", "zone=12", "user=5"], "");
    assert!(code != Some(0) && errors.contains("the key has no field zone"), "{errors}");
}

#[test]
fn explain_prints_ranges_in_scan_order() {
    // E01 and E02 of the tutorials: the bounds of newest-first times, written by hand, are the
    // wrong way round.
    let (code, stdout, _) = key(
        &["explain", "--key", SENSORS, "device_id=sensor_00001", "ts=2024-03-15..2024-03-16"],
        "",
    );
    assert_eq!(code, Some(0));
    assert!(
        stdout.contains(
            "[\\x01sensor_00001\\x00\\x01\\x7F\\xFF\\xFEq\\xBBq\\x18\\x00 .. \
             \\x01sensor_00001\\x00\\x01\\x7F\\xFF\\xFEq\\xC0\\x97t)"
        ),
        "{stdout}"
    );
    let (_, stdout, _) = key(&["explain", "--key", SENSORS, "device_id=a,b,c"], "");
    assert!(stdout.contains("fan-out  3") && stdout.contains("(merged)"), "{stdout}");
    let (_, stdout, _) = key(&["explain", "--key", SENSORS, "ts>=2024-03-15"], "");
    assert!(stdout.contains("fan-out  16") && stdout.contains("Q-FULL"), "{stdout}");
}

#[test]
fn split_prints_share_of_each_region() {
    let (code, stdout, _) = key(&["split", "--key", "(SALT(16 BY id), id STRING)", "INTO 10"], "");
    assert_eq!(code, Some(0));
    assert!(
        stdout.contains(
            "10 regions; the greatest gets 1.25 times the mean\n\
             P-SALTREG: 16 salts on 10 regions do not divide"
        ),
        "{stdout}"
    );
    let (_, stdout, _) =
        key(&["split", "--key", "(SALT(4 BY id), id STRING)", "BY SALT", "--shell"], "");
    assert_eq!(stdout, "SPLITS => [\"\\x01\", \"\\x02\", \"\\x03\"]\n");
    let sample = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(sample.path(), "a\nb\nc\nd\n").unwrap();
    let (_, stdout, errors) = key(
        &[
            "split",
            "--key",
            "(id STRING)",
            &format!("FROM SAMPLE '{}' INTO 2", sample.path().display()),
        ],
        "",
    );
    assert!(stdout.contains("     2  c          50.00 %"), "{stdout}{errors}");
    let (_, _, errors) = key(&["split", "--key", "(ts TIMESTAMP, id STRING)", "INTO 4"], "");
    assert!(errors.contains("begins with ts"), "{errors}");
}

#[test]
fn lint_exits_1_on_errors_in_all_formats() {
    let bad = "CREATE TABLE s (v DOUBLE FAMILY d, ROW KEY (ts TIMESTAMP, id STRING));";
    let (code, stdout, _) = key(&["lint", "-"], bad);
    assert_eq!(code, Some(1));
    assert!(
        stdout.contains("error[K-MONO]")
            && stdout.contains("instead: ROW KEY (SALT(16 BY id), id STRING, ts TIMESTAMP)"),
        "{stdout}"
    );
    let (code, stdout, _) = key(&["lint", "-", "--format", "json"], bad);
    let found: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &found[0]["rule"]), (Some(1), &"K-MONO".into()));
    let (_, stdout, _) = key(&["lint", "-", "--format", "sarif"], bad);
    let sarif: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "K-MONO");
    let good = "ROW KEY (SALT(16 BY id), id STRING, ts TIMESTAMP DESC)";
    assert_eq!(key(&["lint", "-"], good).0, Some(0));
    assert_eq!(
        key(
            &["lint", "-", "--fail-on", "note"],
            &bad.replace(';', " -- lint:allow K-MONO a day of data\n")
        )
        .0,
        Some(1)
    );
    let (_, _, errors) = key(&["lint", "-"], "CREATE TABLE s (ROW KEY (id STRNG))");
    assert!(errors.contains("did you mean STRING?"), "{errors}");
}

#[test]
fn lint_explains_rules_and_reads_java_structs() {
    let (code, stdout, _) = key(&["lint", "--explain", "k-mono"], "");
    assert!(
        code == Some(0) && stdout.starts_with("# K-MONO: ") && stdout.contains("halite lab "),
        "{stdout}"
    );
    let (code, _, errors) = key(&["lint", "--explain", "K-MON"], "");
    assert!(code != Some(0) && errors.contains("did you mean K-MONO?"), "{errors}");
    let (_, stdout, _) =
        key(&["lint", "-", "--format", "sarif"], "ROW KEY (ts TIMESTAMP, id STRING)");
    let sarif: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let rule = &sarif["runs"][0]["tool"]["driver"]["rules"][0];
    assert!(
        rule["helpUri"].as_str().unwrap().ends_with("/docs/lint/K-MONO.md")
            && rule["help"]["markdown"].as_str().unwrap().contains("## Instead")
    );
    let directory = tempfile::tempdir().unwrap();
    let java = directory.path().join("Keys.java");
    std::fs::write(
        &java,
        "Struct s = new StructBuilder().add(RawString.ASCENDING).add(new RawLong()).toStruct();",
    )
    .unwrap();
    let (code, stdout, _) = key(&["lint", java.to_str().unwrap()], "");
    assert!(
        code == Some(1) && stdout.contains("error[K-SKIP]") && stdout.contains("OrderedString"),
        "{stdout}"
    );
}

#[test]
fn table_lint_reports_deletes_appends_and_empty_families() {
    let served = TestServer::start(&["--ephemeral"]);
    let uri = format!("zk://{}", served.address("zookeeper"));
    let directory = tempfile::tempdir().unwrap();
    let mut lines = "create 't', {NAME => 'd', VERSIONS => 5}, 'e'\n".to_owned();
    for at in 0..150 {
        writeln!(lines, "put 't', 'q{at:03}', 'd:v', 'new'\ndeleteall 't', 'q{at:03}'").unwrap();
    }
    for at in 0..120 {
        writeln!(lines, "put 't', 'r{at:03}', 'd:v', 'there'").unwrap();
    }
    lines.push_str(
        "append 't', 'x', 'd:n', '1'\nappend 't', 'x', 'd:n', '1'\nappend 't', 'x', 'd:n', '1'\n",
    );
    for place in [["--data", directory.path().to_str().unwrap()], ["--connect", &uri]] {
        shell(&place, &lines);
        let (code, stdout, errors) = key(&[&["lint", "--table", "t"][..], &place].concat(), "");
        assert_eq!(code, Some(1), "{stdout}{errors}");
        assert!(
            stdout.contains("150 consecutive rows are deleted but still stored: a scan from q000"),
            "{stdout}"
        );
        assert!(
            stdout.contains("error[F-APPENDCNT]") && stdout.contains("versions of 1, 2, 3 bytes"),
            "{stdout}"
        );
        assert!(stdout.contains("warning[F-CARD]") && stdout.contains("family e in 0"), "{stdout}");
    }
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn shell_explains_empty_scan_of_reversed_times() {
    let directory = tempfile::tempdir().unwrap();
    let key = "ROW KEY TEXT \\'{u}_{rev(ts):19}\\' WHERE u MATCHES \\'[^_]+\\'";
    let lines = format!(
        "create 't', 'd', ROW_KEY => '{key}'\n\
         scan 't', {{STARTROW => 'u1_9223370326480375807', STOPROW => 'u1_9223370326393975807'}}\n"
    );
    let output =
        output_of(program::halite().args(["shell", "-n", "--data"]).arg(directory.path()), &lines);
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(
        text.contains("Q-INV: The scan begins at u1_9223370326480375807")
            && text.contains("written newest first"),
        "{text}"
    );
}

/// Lines for the shell: a table of four salts, and rows of two ids at ten times each.
fn salted_rows() -> String {
    let declared = "(SALT(4 BY id), id STRING, ts TIMESTAMP DESC)";
    let key_of = |id: &str, ts: usize| {
        let (_, stdout, _) =
            key(&["encode", "--key", declared, &format!("id={id}"), &format!("ts={ts}")], "");
        stdout.lines().next().unwrap().to_owned()
    };
    let puts = ["s1", "s2"].into_iter().flat_map(|id| (1..=10).map(move |ts| (id, ts)));
    let puts = puts.map(|(id, ts)| format!("put 't', \"{}\", 'f:v', 'v{ts}'\n", key_of(id, ts)));
    format!(
        "create 't', 'f', ROW_KEY => '{declared}', SPLITS => [\"\\x01\", \"\\x02\", \"\\x03\"]\n{}",
        puts.collect::<String>()
    )
}

fn shell(place: &[&str], lines: &str) {
    let output = output_of(program::halite().args(["shell", "-n"]).args(place), lines);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn salted_rows_read_in_order_from_store_and_server() {
    let served = TestServer::start(&["--ephemeral"]);
    let uri = format!("zk://{}", served.address("zookeeper"));
    let directory = tempfile::tempdir().unwrap();
    let lines = salted_rows();
    for place in [["--data", directory.path().to_str().unwrap()], ["--connect", &uri]] {
        shell(&place, &lines);
        let scan =
            |arguments: &[&str]| key(&[&["scan", "t"][..], &place, arguments].concat(), "").1;
        let row = |id: &str, ts: usize| {
            format!(
                "id = '{id}', ts = 1970-01-01T00:00:00.{}Z  f:v=v{ts}\n",
                format!("{ts:03}").trim_end_matches('0')
            )
        };
        let all: Vec<_> = ["s1", "s2"]
            .into_iter()
            .flat_map(|id| (1..=10).rev().map(move |ts| row(id, ts)))
            .collect();
        assert_eq!(scan(&[]), all.concat() + "20 row(s), 20 examined\n");
        assert_eq!(
            scan(&["--reverse"]),
            all.iter().rev().cloned().collect::<String>() + "20 row(s), 20 examined\n"
        );
        assert_eq!(
            scan(&["id=s2", "ts=3..5"]),
            format!("{}{}2 row(s), 2 examined\n", row("s2", 4), row("s2", 3))
        );
        // A page starts where the preceding one ended, whatever the salt of its rows.
        let (mut pages, mut after) = (Vec::new(), None);
        loop {
            let token: Vec<&str> =
                after.iter().flat_map(|token: &String| ["--page-token", token.as_str()]).collect();
            let stdout = scan(&[&["--limit", "7"], &token[..]].concat());
            pages.extend(
                stdout
                    .lines()
                    .filter(|line| line.starts_with("id ="))
                    .map(|line| format!("{line}\n")),
            );
            after = stdout
                .lines()
                .last()
                .and_then(|line| line.strip_prefix("more rows follow: --page-token "))
                .map(str::to_owned);
            if after.is_none() {
                break;
            }
        }
        assert_eq!(pages, all);
    }
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn explain_reads_key_regions_and_sample_from_server() {
    let served = TestServer::start(&["--ephemeral"]);
    let uri = format!("zk://{}", served.address("zookeeper"));
    let lines = "create 't', {NAME => 'f'}, {SPLITS => [\"\\x08\"], METADATA => {'ROW_KEY' => 'ROW \
                 KEY (SALT(16 BY id), id STRING)'}}\nput 't', \"\\x06user_001\", 'f:q', 1\n";
    shell(&["--connect", &uri], lines);
    let (code, stdout, errors) =
        key(&["explain", "--table", "t", "--connect", &uri, "id=user_001"], "");
    assert_eq!(code, Some(0), "{errors}");
    assert!(stdout.contains("regions  1 of 2") && stdout.contains("= \\x06user_001"), "{stdout}");
    let (code, stdout, errors) = key(&["lint", "--table", "t", "--connect", &uri], "");
    assert_eq!(code, Some(0), "{stdout}{errors}");
    let (_, _, errors) = key(&["decode", "--table", "absent", "--connect", &uri, "x"], "");
    assert!(errors.contains("absent"), "{errors}");
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn infer_finds_key_of_file_with_evidence() {
    let keys = (1..=500_u64)
        .map(|at| at * 7919 % 99_991)
        .map(|id| format!("{}{id}\n", id % 5))
        .collect::<Vec<_>>()
        .concat();
    let (code, stdout, errors) = key(&["infer", "-"], &keys);
    assert_eq!(code, Some(0), "{errors}");
    for wanted in [
        "ROW KEY TEXT '{salt(5 by id using modulo):1}{id U64}'\nconfidence 98 %\n\
         explains 500 of 500 keys, 100.0 %",
        "0..1   {salt(5 by id using modulo):1}  id modulo 5: 400 of 400 keys",
        "ALTER TABLE t ADOPT ROW KEY TEXT '{salt(5 by id using modulo):1}{id U64}';",
    ] {
        assert!(stdout.contains(wanted), "no {wanted}:\n{stdout}");
    }
    let (_, stdout, _) = key(&["infer", "-", "--format", "json"], &(keys + "99x\n"));
    let found: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(found["candidates"][0]["counter_examples"][0]["key"], "99x");
    assert_eq!(found["candidates"][0]["explained"], 500);
    let (code, _, errors) = key(&["infer", "-"], "\n\n");
    assert!(code != Some(0) && errors.contains("no keys to look at"), "{errors}");
    let (_, _, errors) = key(&["infer", "/no/such/file"], "");
    assert!(errors.contains("/no/such/file"), "{errors}");
    let (_, _, errors) = key(&["infer", "-"], "x'0'\n");
    assert!(errors.contains("pairs of hexadecimal digits are wanted"), "{errors}");
}

#[test]
fn infer_samples_keys_from_all_regions() {
    let ids: Vec<u64> = (1..=400_u64).map(|at| at * 7919 % 99_991).collect();
    let puts = ids
        .iter()
        .map(|id| format!("put 't', '{}{id}', 'f:v', '1'\n", id % 5))
        .collect::<Vec<_>>()
        .concat();
    let lines = format!("create 't', 'f', SPLITS => ['1', '2', '3']\ncreate 'none', 'f'\n{puts}");
    let served = TestServer::start(&["--ephemeral"]);
    let uri = format!("zk://{}", served.address("zookeeper"));
    let directory = tempfile::tempdir().unwrap();
    for place in [["--data", directory.path().to_str().unwrap()], ["--connect", &uri]] {
        shell(&place, &lines);
        let infer = |arguments: &[&str]| key(&[&["infer"][..], arguments, &place].concat(), "");
        let (_, stdout, errors) = infer(&["--table", "t", "--sample", "200", "--format", "json"]);
        let found: serde_json::Value =
            serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{errors}"));
        let sampled = found["keys"].as_u64().unwrap();
        assert!((150..=200).contains(&sampled), "{sampled}");
        assert_eq!(
            found["candidates"][0]["statement"],
            "ALTER TABLE t ADOPT ROW KEY TEXT '{salt(5 by id using modulo):1}{id U64}'"
        );
        assert_eq!(found["candidates"][0]["explained"], sampled);
        assert!(
            infer(&["--table", "t"]).1.starts_with("400 keys of table t\n"),
            "all of a small table"
        );
        assert!(infer(&["--table", "none"]).2.contains("table none has no keys to look at"));
    }
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn simulate_compares_designs_and_writes_svg() {
    let directory = tempfile::tempdir().unwrap();
    let picture = directory.path().join("picture.svg");
    let rising = "(ts TIMESTAMP, device STRING)";
    let salted = "(SALT(16 BY device), device STRING, ts TIMESTAMP DESC)";
    let arguments = [
        "simulate",
        "--key",
        rising,
        "--key",
        salted,
        "--operations",
        "20000",
        "--window-operations",
        "250",
        "--field",
        "device=d{uniform(2000)}",
        "--query",
        "one: device = ? AND ts IN RANGE",
    ];
    let (code, stdout, errors) =
        key(&[&arguments[..], &["--svg", picture.to_str().unwrap()]].concat(), "");
    assert_eq!(code, Some(0), "{errors}");
    let line = |name: &str| {
        stdout
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("no {name}:\n{stdout}"))
            .split_ascii_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert!(
        line("  in a window of 250 writes")
            .starts_with("in a window of 250 writes: median, p99 16.00, 16.00 1."),
        "{stdout}"
    );
    assert!(
        line("regions in use at a time").starts_with("regions in use at a time 1.0 1"),
        "{stdout}"
    );
    assert_eq!(line("places that segment 1"), "places that segment 1 can spread to 16 of 16");
    // The requested hour ends after the traffic, so the query reads all regions from that of the
    // middle row on.
    assert_eq!(line("query one"), "query one: ranges, regions 1, 9 1, 1");
    assert!(
        stdout.contains("A: even as a whole, and one region does the work of every moment"),
        "{stdout}"
    );
    assert!(stdout.contains("B: even: writes use 1"), "{stdout}");
    assert!(stdout.contains("Sequential frontier, ") && stdout.contains("Even, "), "{stdout}");
    assert!(!stdout.contains('\u{1b}'), "no terminal, no colors");
    let (_, colored, _) = key(&[&arguments[..], &["--color", "always"]].concat(), "");
    assert!(colored.contains("\u{1b}[48;2;"), "{colored}");
    let painted = std::fs::read_to_string(&picture).unwrap();
    assert!(painted.starts_with("<svg") && painted.contains("SALT(16 BY device)"));
    let (_, stdout, _) = key(&[&arguments[..], &["--format", "json"]].concat(), "");
    let found: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(found["designs"][1]["writes"]["operations"], 20_000);
    assert_eq!(found["designs"][1]["split"], "BY SALT");
    assert_keys_are_golden(&found);
}

/// Verifies that the picture of the documentation is what its command writes.
/// `HALITE_UPDATE_GOLDEN=1` writes it again.
#[test]
fn picture_of_documentation_is_current() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/images/simulate.svg");
    let directory = tempfile::tempdir().unwrap();
    let update = std::env::var_os("HALITE_UPDATE_GOLDEN").is_some();
    let painted = if update { file.into() } else { directory.path().join("simulate.svg") };
    let arguments = [
        "simulate",
        "--key",
        "(ts TIMESTAMP, device STRING)",
        "--key",
        "(SALT(16 BY device), device STRING, ts TIMESTAMP DESC)",
        "--field",
        "device=sensor_{zipf(1000,0.8):05}",
        "--query",
        "latest: device = ? AND ts IN RANGE",
        "--svg",
        painted.to_str().unwrap(),
    ];
    let (code, stdout, errors) = key(&arguments, "");
    assert_eq!(code, Some(0), "{errors}");
    let there = std::fs::read_to_string(file).unwrap();
    assert_eq!(there, std::fs::read_to_string(&painted).unwrap(), "write it again");
    let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rowkey.md");
    let manual = std::fs::read_to_string(manual).unwrap();
    let missing = stdout.lines().find(|line| !manual.contains(line.trim_end()));
    assert_eq!(missing, None, "docs/rowkey.md shows what the command prints");
}

/// Asserts that the keys of a JSON report are those of the golden file, one path on each line.
fn assert_keys_are_golden(report: &serde_json::Value) {
    fn add(path: &str, value: &serde_json::Value, paths: &mut BTreeSet<String>) {
        match value {
            serde_json::Value::Object(members) => {
                for (key, member) in members {
                    paths.insert(format!("{path}{key}"));
                    add(&format!("{path}{key}."), member, paths);
                }
            }
            serde_json::Value::Array(items) => {
                items.iter().for_each(|item| add(path, item, paths));
            }
            _ => {}
        }
    }
    let mut paths = BTreeSet::new();
    add("", report, &mut paths);
    let found = paths.into_iter().collect::<Vec<_>>().join("\n") + "\n";
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/key/simulate_json_keys.txt");
    if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() {
        std::fs::write(file, &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(file).unwrap());
}

#[test]
fn simulate_rejects_invalid_traffic() {
    let refused = |arguments: &[&str], wanted: &str| {
        let (code, _, errors) =
            key(&[&["simulate", "--key", "(id STRING)"], arguments].concat(), "");
        assert!(code != Some(0) && errors.contains(wanted), "wanted {wanted}: {errors}");
    };
    refused(&["--field", "name=uuid"], "no key has a field name; there are id");
    refused(&["--field", "id=unifrom(3)"], "there is no unifrom(3)");
    refused(&["--operations", "99000000000"], "1 to 5000000 can be simulated");
    refused(&["--read-ratio", "2"], "a number from 0 to 1");
    refused(&["--query", "q: id == ?"], "--query cannot be read");
    refused(&["--query", "q: idd = ?"], "1 | q: idd = ?");
    refused(&["--window-operations", "0"], "0 is no number above 0");
    refused(&["--field", "id=uuid", "--field", "id=random"], "--field id is given twice");
    refused(&["--field", "id=now(5/s)", "--rate", "6"], "more than once: 5 by id, 6 for all");
    refused(&["--split", "INTO nothing"], "the splits cannot be read");
    refused(&["--start", "soon"], "--start");
    // This few writes form one window, in which an ascending key appears even.
    let (_, stdout, _) =
        key(&["simulate", "--key", "(ts TIMESTAMP, id STRING)", "--operations", "1000"], "");
    assert!(
        stdout.contains("1,000 writes make 1 window(s), too few to tell what each moment is like")
            && !stdout.contains("even:"),
        "{stdout}"
    );
    // With this few keys the report omits the positions of new keys, and one window contains all
    // writes.
    let few = [
        "simulate",
        "--key",
        "(id STRING)",
        "--operations",
        "1000",
        "--read-ratio",
        "0.9",
        "--field",
        "id=one(a,b,c)",
        "--query",
        "some: id LIKE ?",
    ];
    let (_, stdout, errors) = key(&few, "");
    assert!(
        !stdout.contains("places where keys grow")
            && !stdout.contains("new keys greater than")
            && !stdout.contains("window of 1,000"),
        "{stdout}{errors}"
    );
    let (_, stdout, _) = key(
        &["simulate", "--key", "(n U32)", "--operations", "1000", "--query", "some: n LIKE ?"],
        "",
    );
    assert!(stdout.contains("cannot be asked: n is of type U32"), "{stdout}");
    let empty = tempfile::NamedTempFile::new().unwrap();
    refused(&["--trace", empty.path().to_str().unwrap()], "0 operations are not possible");
    std::fs::write(empty.path(), "1\tW\tid=a\n2\tW\tid=b\n3\tR\tid=a\n").unwrap();
    let (_, stdout, errors) = key(
        &[
            "simulate",
            "--key",
            "(id STRING)",
            "--trace",
            empty.path().to_str().unwrap(),
            "--split",
            "AT ('b')",
        ],
        "",
    );
    let whole =
        stdout.lines().find(|line| line.starts_with("busiest region over the mean, all writes"));
    assert!(
        stdout.contains("3 operations of ") && whole.is_some_and(|line| line.ends_with(" 1.00")),
        "{stdout}{errors}"
    );
}

#[test]
fn reading_commands_create_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let typo = folder.path().join("typo");
    let sample = folder.path().join("points.csv");
    std::fs::write(&sample, "device,ts,value\n").unwrap();
    for (data, state) in
        [(typo.as_path(), "no such directory"), (folder.path(), "the directory holds none")]
    {
        let data = data.to_str().unwrap();
        for command in [
            &["key", "encode", "--table", "t", "a=1"][..],
            &["key", "decode", "--table", "t", "a"],
            &["key", "explain", "--table", "t", "a=1"],
            &["key", "explain", "--table", "t", "a=1", "--analyze"],
            &["key", "scan", "t"],
            &["key", "split", "--table", "t"],
            &["key", "split", "--key", "(a STRING)", "LIKE t"],
            &["key", "infer", "--table", "t"],
            &["key", "simulate", "--table", "t"],
            &["key", "lint", "--table", "t"],
            &["key", "presplit", "t"],
            &["series", "read", "t"],
            &["series", "pack", "t"],
            &["series", "write", "t", sample.to_str().unwrap()],
        ] {
            let (code, stdout, errors) = halite(&[command, &["--data", data]].concat(), "");
            assert!(
                code == Some(1) && errors.contains("there is no store") && errors.contains(state),
                "{command:?}: {stdout}{errors}"
            );
        }
    }
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["points.csv"], "nothing was made");
}

#[test]
fn encode_prints_one_key_per_value_and_line() {
    let (code, stdout, errors) =
        key(&["encode", "--key", "(id STRING, n U8)", "id=a,'b,c'", "n=1,2"], "");
    assert_eq!(
        (code, stdout.as_str()),
        (Some(0), "a\\x00\\x01\\x01\na\\x00\\x01\\x02\nb,c\\x00\\x01\\x01\nb,c\\x00\\x01\\x02\n"),
        "{errors}"
    );
    let (code, stdout, _) =
        key(&["encode", "--key", "(id STRING, n U8)"], "id=a n=1\n\nid=b c\tn=2\n");
    assert_eq!((code, stdout.as_str()), (Some(0), "a\\x00\\x01\\x01\nb c\\x00\\x01\\x02\n"));
    let (code, _, errors) =
        key(&["encode", "--key", "(id STRING, n U8)"], "id=a n=1\nid=b n=300\n");
    assert!(code == Some(1) && errors.contains("line 2: n: 300 is outside of U8"), "{errors}");
}

#[test]
fn decode_reports_expected_salt_and_encode_prints_text() {
    let key_of = "(SALT(16 BY name), name STRING)";
    let (_, stdout, _) = key(&["decode", "--key", key_of, "\\x05user_001"], "");
    assert!(stdout.contains("the salt is 5, and name = 'user_001' has 6"), "{stdout}");
    let name = "name=caf\u{e9} \u{5f20}";
    let (_, stdout, _) = key(&["encode", "--key", "(name STRING)", name], "");
    assert!(stdout.contains("'caf\u{e9} \u{5f20}'"), "{stdout}");
}

#[test]
fn explain_rejects_invalid_conditions_and_reports_empty_results() {
    for (condition, wanted) in [
        ("ts=2024-03-16..2024-03-15", "ends before it begins"),
        ("device_id=a OR b", "one of several values is FIELD=A,B"),
        ("device_id=*a", "only a prefix can be matched"),
    ] {
        let (code, _, errors) = key(&["explain", "--key", SENSORS, condition], "");
        assert!(code == Some(1) && errors.contains(wanted), "{condition}: {errors}");
    }
    let (_, stdout, _) =
        key(&["explain", "--key", SENSORS, "device_id=a", "ts>2024-03-16", "ts<2024-03-15"], "");
    assert_eq!(stdout, "reads    nothing: no key meets all of these conditions\n");
    let (_, stdout, _) = key(&["explain", "--key", SENSORS, "device_id='a OR b'"], "");
    assert!(stdout.contains("device_id = 'a OR b'"), "{stdout}");
    let (code, _, errors) = key(&["explain", "--key", SENSORS, "--limit", "0"], "");
    assert!(code == Some(2) && errors.contains("0 is no number above 0"), "{errors}");
}

#[test]
fn text_key_skip_scan_needs_pattern_for_value_end() {
    let explain = |key_of: &str, more: &[&str]| {
        key(&[&["explain", "--key", key_of, "--distinct", "region=4"], more].concat(), "").1
    };
    let stdout = explain("TEXT '{region}_{user}' WHERE region MATCHES '[^_]+'", &["user=u5"]);
    assert!(stdout.contains("skip scan: about 4 values of region"), "{stdout}");
    let stdout = explain("TEXT '{region}_{user}'", &["user=u5"]);
    assert!(
        stdout.contains("no skip scan over region: its text may contain the delimiter after it")
            && stdout.contains("Q-FULL"),
        "{stdout}"
    );
    let stdout = explain("(region STRING, user U64)", &[]);
    assert!(stdout.contains("no skip scan over region"), "{stdout}");
}

#[test]
fn lint_reports_lines_and_unsupported_input() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let file = write(
        "t.sql",
        "-- tables\n\nCREATE TABLE t (\n  v DOUBLE FAMILY d,\n  ROW KEY (\n    ts TIMESTAMP,\n    \
         id STRING)\n);\n",
    );
    let (_, stdout, _) = key(&["lint", &file, "--format", "sarif"], "");
    let sarif: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let line = |rule: &str| {
        let found = results
            .iter()
            .find(|result| result["ruleId"] == rule)
            .unwrap_or_else(|| panic!("no {rule}: {stdout}"));
        found["locations"][0]["physicalLocation"]["region"]["startLine"].as_u64()
    };
    assert_eq!(line("K-MONO"), Some(6));
    let java = write(
        "K.java",
        "class K {\n  /* two\n lines */\n  Struct s = new \
         StructBuilder().add(RawString.ASCENDING).add(new RawLong()).toStruct();\n}\n",
    );
    let (_, stdout, _) = key(&["lint", &java, "--format", "json"], "");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&stdout).unwrap()[0]["line"], 4);
    for (name, text) in
        [("a.sql", "-- nothing\n"), ("b.java", "class A {}"), ("c.sql", "SHOW CREATE TABLE t;")]
    {
        let (code, _, errors) = key(&["lint", &write(name, text)], "");
        assert!(code == Some(1) && errors.contains("has nothing to look at"), "{name}: {errors}");
    }
    let allowed = write(
        "d.sql",
        "ALTER TABLE t ADOPT ROW KEY (ts TIMESTAMP, id STRING); -- lint:allow K-MONO a log\n\
         -- lint:allow K-MNOO x\nCREATE TABLE u (ROW KEY (a STRING));",
    );
    let (code, stdout, errors) = key(&["lint", &allowed], "");
    assert!(
        code == Some(0)
            && !stdout.contains("K-MONO")
            && errors.contains(
                "line 2: lint:allow K-MNOO: there is no such rule (did you mean K-MONO?)"
            ),
        "{stdout}{errors}"
    );
}

#[test]
fn load_rules_apply_when_load_is_given() {
    let table = "CREATE TABLE t (v DOUBLE, ROW KEY (SALT(256 BY id), id STRING, ts TIMESTAMP)) \
                 SPLIT BY SALT;";
    let (_, stdout, _) = key(&["lint", "-"], table);
    assert!(!stdout.contains("P-MANY"), "{stdout}");
    let (_, stdout, _) = key(&["lint", "-", "--servers", "1"], table);
    assert!(stdout.contains("P-MANY") && stdout.contains("256 regions on 1 servers"), "{stdout}");
    let (code, _, errors) = key(&["lint", "-", "--servers", "0"], table);
    assert_eq!(code, Some(2), "{errors}");
}

/// The first rows of a region share one value of the first key field, however many values the table
/// has.
#[test]
fn table_lint_samples_keys_across_table() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let mut script = "CREATE TABLE t (v STRING FAMILY d, ROW KEY TEXT '{device}_{n:5}' WHERE \
                      device MATCHES '[^_]+');\n"
        .to_owned();
    script.push_str(
        "for i in 1..30 do for n in 1..400 do t.put \"d#{i}_#{n.to_s.rjust(5, '0')}\", 'd:v', 'x' \
         end end\n",
    );
    let script = script.replace("for i", "t = get_table 't'\nfor i");
    let (code, stdout, errors) = halite(&["shell", "-n", "--data", data], &script);
    assert_eq!(code, Some(0), "{}{errors}", &stdout[stdout.len().saturating_sub(500)..]);
    let (_, stdout, errors) = key(&["lint", "--table", "t", "--data", data], "");
    assert!(
        !stdout.contains("K-LOWCARD")
            && !stdout.contains("K-MISFIT")
            && stdout.contains("table t:"),
        "{stdout}{errors}"
    );
}

#[test]
fn invalid_row_keys_are_reported_by_key_commands() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let script = "CREATE TABLE t (v STRING FAMILY d, ROW KEY (SALT(4 BY id), id STRING));\n\
                  put 't', \"\\x09odd\", 'd:v', '1'\n";
    let (code, stdout, errors) = halite(&["shell", "-n", "--data", data], script);
    assert_eq!(code, Some(0), "{stdout}{errors}");
    let seen = "1 of 1 sampled row(s) of table t are no keys of its ROW KEY, and questions about \
                fields do not find them";
    for command in [
        &["scan", "t"][..],
        &["explain", "--table", "t"],
        &["explain", "--table", "t", "--analyze"],
    ] {
        let (_, stdout, errors) = key(&[command, &["--data", data]].concat(), "");
        assert!(stdout.contains(seen), "{command:?}: {stdout}{errors}");
    }
    let (_, stdout, _) = key(&["lint", "--table", "t", "--data", data], "");
    assert!(
        stdout.contains("warning[K-MISFIT]") && stdout.contains("1 of 1 sampled rows"),
        "{stdout}"
    );
    let strict = "alter 't', ROW_KEY_STRICT => true\nput 't', \"\\x09even\", 'd:v', '1'\n";
    let (code, stdout, _) = halite(&["shell", "-n", "--data", data], strict);
    assert!(code == Some(1) && stdout.contains("ROW_KEY_STRICT refuses it"), "{stdout}");
    let (code, stdout, _) =
        halite(&["shell", "-n", "--data", data], "deleteall 't', \"\\x09odd\"\n");
    assert_eq!(code, Some(0), "{stdout}");
}

/// Operations that a server has recorded are read from it, and from its store after it has stopped.
#[test]
fn trace_of_server_and_store_is_simulated() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data").to_str().unwrap().to_owned();
    let served = TestServer::start(&["--data", &data, "--heat-level", "full"]);
    let uri = format!("rpc://{}", served.address("master"));
    let mut script =
        "CREATE TABLE o (v STRING FAMILY d QUALIFIER v, ROW KEY (id U32));\n".to_owned();
    let key = "ROW KEY (id U32)";
    // Without the quotation mark and the backslash as bytes.
    let ids: Vec<String> = (128..248).map(|id| format!("id={id}")).collect();
    let (_, keys, errors) = self::key(&["encode", "--key", key], &ids.join("\n"));
    for row in keys.lines() {
        writeln!(script, "put 'o', \"{row}\", 'd:v', 'x'").unwrap();
    }
    let (code, _, shell_errors) = halite(&["shell", "--connect", &uri, "-n"], &script);
    assert_eq!(code, Some(0), "{errors} {shell_errors}");
    let url = format!("http://{}", served.address("http"));
    let (code, from_server, errors) = self::key(&["trace", "o", "--connect", &url], "");
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(served.end(Signal::TERM).0, Some(0));
    let (code, from_store, errors) = self::key(&["trace", "o", "--data", &data], "");
    assert_eq!(code, Some(0), "{errors}");
    let puts = |trace: &str| -> BTreeSet<String> {
        let line = |line: &str| -> serde_json::Value { serde_json::from_str(line).unwrap() };
        let lines = trace.lines().map(line).filter(|line| line["op"] == "put");
        lines.map(|line| format!("{} {} {}", line["key"], line["values"], line["client"])).collect()
    };
    assert_eq!(puts(&from_store).len(), 120, "{from_store}");
    assert_eq!(puts(&from_server), puts(&from_store));
    assert!(from_store.contains(r#""address":"127.0.0.1""#), "{from_store}");
    let file = directory.path().join("trace.jsonl");
    std::fs::write(&file, &from_store).unwrap();
    let file = file.to_str().unwrap();
    let salted = "ROW KEY (SALT(4 BY id), id U32)";
    let (code, report, errors) =
        self::key(&["simulate", "--trace", file, "--key", key, "--key", salted], "");
    assert!(code == Some(0) && report.contains("120 operations"), "{report} {errors}");
    let (code, report, errors) = self::key(&["infer", file], "");
    assert!(code == Some(0) && report.contains("120 keys"), "{report} {errors}");
    let (code, _, errors) = self::key(&["trace", "o", "--connect", &uri], "");
    assert!(code != Some(0) && errors.contains("http://"), "{errors}");
}

const ORDERS: &str = "CREATE TABLE orders (qty I32 FAMILY d, price DECIMAL(6,2) FAMILY d, state \
                      STRING FAMILY d NOT NULL DEFAULT 'new', tags MAP(STRING, I64) FAMILY m, ROW \
                      KEY (SALT(4 BY shop), shop STRING, ts TIMESTAMP DESC));\n";

#[test]
fn rows_are_written_and_read_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let (code, _, errors) = halite(&["shell", "-n", "--data", data], ORDERS);
    assert_eq!(code, Some(0), "{errors}");
    let put = |more: &[&str], input: &str| {
        key(&[&["put", "orders", "--data", data], more].concat(), input)
    };
    let scan = |more: &[&str]| key(&[&["scan", "orders", "--data", data], more].concat(), "").1;
    let one = ["shop=a", "ts=2024-03-15", "qty=-5", "price=2.5", "tags['x y']=7"];
    assert_eq!(put(&one, "").1, "1 row(s) written\n");
    let table = scan(&["--format", "table", "shop=a"]);
    let line = "shop = 'a', ts = 2024-03-15T00:00:00Z  price=2.5  qty=-5  state='new'  tags[x y]=7";
    assert_eq!(table.lines().next(), Some(line), "{table}");
    // The shell reads the bytes that Java's programs read.
    assert!(scan(&[]).contains("d:qty=\\xFF\\xFF\\xFF\\xFB"), "{}", scan(&[]));

    let csv = "shop,ts,qty,state\nb,2024-03-15T00:00:01Z,1,\"a, b\"\nb,2024-03-15T00:00:02Z,,\n";
    assert_eq!(put(&["--csv", "-"], csv).1, "2 row(s) written\n");
    let json = "{\"shop\":\"c\",\"ts\":5,\"qty\":9,\"price\":\"1.25\",\"tags[k]\":-1}\n\n";
    assert_eq!(put(&["--jsonl", "-"], json).1, "1 row(s) written\n");
    let csv = scan(&["--format", "csv", "shop=b"]);
    assert_eq!(
        csv,
        "shop,ts,qty,price,state\nb,2024-03-15T00:00:02Z,,,\nb,2024-03-15T00:00:01Z,1,,\"a, b\"\n"
    );
    let lines = scan(&["--format", "jsonl", "shop=c"]);
    let found = "{\"price\":\"1.25\",\"qty\":9,\"shop\":\"c\",\"state\":\"new\",\"tags[k]\":-1,\
                 \"ts\":\"1970-01-01T00:00:00.005Z\"}\n";
    assert_eq!(lines, found);

    // What one command prints, the other reads.
    let all = scan(&["--format", "jsonl"]);
    let copy = tempfile::tempdir().unwrap();
    let copied = copy.path().to_str().unwrap();
    assert_eq!(halite(&["shell", "-n", "--data", copied], ORDERS).0, Some(0));
    let (_, written, errors) = key(&["put", "orders", "--data", copied, "--jsonl", "-"], &all);
    assert_eq!(written, "4 row(s) written\n", "{errors}");
    assert_eq!(key(&["scan", "orders", "--data", copied, "--format", "jsonl"], "").1, all);
}

#[test]
fn failed_put_states_line_column_and_rows_written() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    assert_eq!(halite(&["shell", "-n", "--data", data], ORDERS).0, Some(0));
    let put = |more: &[&str], input: &str| {
        let (code, _, errors) = key(&[&["put", "orders", "--data", data], more].concat(), input);
        assert_ne!(code, Some(0), "{errors}");
        errors
    };
    let mut csv = String::from("shop,ts,qty\n");
    for row in 0..1_200 {
        writeln!(csv, "a,{row},1").unwrap();
    }
    csv.push_str("a,5000,x\n");
    let errors = put(&["--csv", "-"], &csv);
    for wanted in ["1000 row(s) were written", "line 1202, column 3 (qty)", "is no I32"] {
        assert!(errors.contains(wanted), "no {wanted}: {errors}");
    }
    let count = key(&["scan", "orders", "--data", data, "--format", "csv"], "").1.lines().count();
    assert_eq!(count, 1_001);
    for (input, wanted) in [
        ("{\"shop\":\"a\",\"ts\":1,\"qyt\":1}\n", "did you mean qty?"),
        ("{\"shop\":\"a\",\"ts\":1,\"qty\":[1]}\n", "qty: a I32 is one value"),
        ("{\"shop\":\"a\"\n", "line 1: column"),
        ("{\"shop\":\"a\",\"qty\":1}\n", "field ts"),
    ] {
        let errors = put(&["--jsonl", "-"], input);
        assert!(errors.contains(wanted) && errors.contains("line 1"), "{wanted}: {errors}");
    }
    assert!(put(&["--csv", "-"], "shop,no\n").contains("line 1: column 2: there is no field"));
    assert!(put(&["shop=a", "ts=1", "price=1.234"], "").contains("does not fit"));
}
