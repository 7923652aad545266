//! `halite recipe` as a process: its steps on one store, a check that kills a writer, and refusals.

use crate::program::{halite, output};

/// Runs a step on a store, and returns its exit code, output and errors.
fn step(data: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = output(halite().arg("recipe").args(arguments).args(["--data", data]));
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn list_has_one_line_for_each_recipe() {
    let output = output(halite().args(["recipe", "list"]));
    let text = String::from_utf8(output.stdout).unwrap();
    for recipe in halite_recipes::recipes() {
        assert!(text.lines().any(|line| line.starts_with(recipe.about().name)), "{text}");
    }
    assert!(text.contains("Begin with: halite recipe"), "{text}");
}

#[test]
fn steps_run_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let run = |arguments: &[&str], expected: &str| {
        let (code, out, error) = step(data, arguments);
        assert!(code == Some(0) && out.contains(expected), "{arguments:?}: {out}{error}");
    };
    let (code, _, error) = step(data, &["user-ops", "run"]);
    assert!(code == Some(1) && error.contains("run gen first"), "{error}");
    run(&["user-ops", "init"], "table user_ops:operations: created, 10 regions");
    run(&["user-ops", "gen", "--scale", "500"], "500 operations written, 0 were there; seed 1");
    run(&["user-ops", "gen", "--scale", "500"], "0 operations written, 500 were there; seed 1");
    run(&["user-ops", "run"], "00012345, newest operations: 5 rows examined");
    run(&["user-ops", "explain"], "regions  1 of 10");
    run(
        &["user-ops", "bench", "--rate", "500", "--duration", "400ms"],
        "of 500 requested; 0 errors",
    );
    let (code, _, error) = step(data, &["user-ops", "gen", "--scale", "600"]);
    assert!(code == Some(1) && error.contains("use --scale 500 --seed 1"), "{error}");
    run(&["user-ops", "init", "--drop"], "1 tables of user_ops dropped");

    // The printed query runs as it is.
    run(&["user-ops", "gen", "--scale", "500"], "500 operations written");
    let scan = ["key", "scan", "user_ops:operations", "user_id=00012345", "--limit", "2"];
    let output = output(halite().args(scan).args(["--data", data]));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("2 row(s), 3 examined"), "{text}");
}

#[test]
fn reading_steps_create_neither_stores_nor_tables() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("none");
    for recipe in halite_recipes::recipes() {
        let name = recipe.about().name;
        let (code, out, error) = step(data.to_str().unwrap(), &[name, "explain"]);
        assert_eq!(code, Some(0), "{name}: {error}");
        assert!(out.contains("not all tables of namespace ") && out.contains(" init creates:"));
        assert!(out.contains("halite key scan") && out.contains("regions  "), "{name}: {out}");
        for reads in ["run", "bench"] {
            let (code, _, error) = step(data.to_str().unwrap(), &[name, reads]);
            assert!(code == Some(1) && error.contains("run gen first"), "{name} {reads}: {error}");
        }
        assert!(!data.exists(), "{name}");
    }

    let data = folder.path().join("empty");
    halite::open(&data).unwrap().close().unwrap();
    let declared = step(data.to_str().unwrap(), &["analytics", "explain"]).1;
    for reads in ["run", "bench"] {
        let (code, _, error) = step(data.to_str().unwrap(), &["analytics", reads]);
        assert!(code == Some(1) && error.contains("run gen first"), "{error}");
    }
    let store = halite::open(&data).unwrap();
    assert!(store.list_tables().unwrap().is_empty());
    assert!(store.list_namespaces().unwrap().iter().all(|(name, _)| name != "analytics"));
    store.close().unwrap();

    // The plans are those of the tables that init creates.
    assert_eq!(step(data.to_str().unwrap(), &["analytics", "init"]).0, Some(0));
    let (_, plans, _) = step(data.to_str().unwrap(), &["analytics", "explain"]);
    assert_eq!(declared.split_once(" init creates:\n\n").unwrap().1, plans);
}

#[test]
fn p02_check_kills_its_writer_and_drops_its_tables() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let (code, out, error) = step(data, &["messages", "check", "--scale", "300"]);
    assert!(code == Some(0), "{out}{error}");
    for text in ["writer killed (SIGKILL) after ", "messages: correct with 300 messages, seed 1"] {
        assert!(out.contains(text), "{out}");
    }
    let store = halite::open(folder.path()).unwrap();
    assert!(store.list_tables().unwrap().is_empty());
}

#[test]
fn unknown_recipes_and_missing_steps_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let (code, _, error) = step(data, &["mesages", "run"]);
    assert!(code == Some(1) && error.contains("did you mean"), "{error}");
    let (code, _, error) = step(data, &["messages"]);
    assert!(code == Some(2) && error.contains("specify a step"), "{error}");
    let (code, _, error) = step(data, &["messages", "check", "--scale", "3"]);
    assert!(code == Some(2) && error.contains("4..="), "{error}");
}

#[test]
fn options_without_an_effect_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("none");
    let data = data.to_str().unwrap();
    for (arguments, expected) in [
        (&["init", "--scale", "100"][..], "--scale has no effect on init"),
        (&["init", "--seed", "2"], "--seed has no effect on init"),
        (&["gen", "--drop"], "--drop has no effect on gen, only on init"),
        (&["gen", "--json"], "--json has no effect on gen, only on bench"),
        (&["run", "--json"], "--json has no effect on run"),
        (&["explain", "--json"], "--json has no effect on explain"),
        (&["check", "--json"], "--json has no effect on check"),
        (&["check", "--drop"], "--drop has no effect on check"),
        (&["run", "--rate", "5"], "--rate has no effect on run"),
        (&["gen", "--duration", "5s"], "--duration has no effect on gen"),
        (&["gen", "--threads", "5"], "--threads has no effect on gen"),
        (&["explain", "--writes", "5"], "--writes has no effect on explain"),
        (&["gen", "--connect", "zk://127.0.0.1:1"], "leave out one of them"),
    ] {
        let (code, _, error) = step(data, &[&["user-ops"], arguments].concat());
        assert!(code == Some(2) && error.contains(expected), "{arguments:?}: {error}");
    }
    let (code, _, error) = step(data, &["list", "gen"]);
    assert!(code == Some(2) && error.contains("list has no steps"), "{error}");
    assert!(!std::path::Path::new(data).exists());
}

#[test]
fn other_items_than_those_of_the_tables_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    assert_eq!(step(data, &["user-ops", "gen", "--scale", "500"]).0, Some(0));
    for reads in ["run", "explain", "bench"] {
        for other in [["--scale", "400"], ["--seed", "2"]] {
            let (code, _, error) = step(data, &[&["user-ops", reads][..], &other].concat());
            let expected = "contain 500 operations of seed 1; leave out --scale and --seed";
            assert!(code == Some(1) && error.contains(expected), "{reads}: {error}");
        }
    }
    let same = ["user-ops", "run", "--scale", "500", "--seed", "1"];
    assert_eq!(step(data, &same).0, Some(0));
}

#[test]
fn option_of_the_command_line_comes_before_a_variable() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let mut shell = halite();
    shell.args(["shell", "-n", "--data", data]).env("HALITE_CONNECT", "zk://127.0.0.1:1");
    let ran = crate::program::output_of(&mut shell, "list\n");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn tables_of_recipes_have_no_lint_warnings() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for recipe in halite_recipes::recipes() {
        let (code, out, error) = step(data.to_str().unwrap(), &[recipe.about().name, "init"]);
        assert_eq!(code, Some(0), "{error}");
        let statements: Vec<&str> =
            out.lines().filter(|line| !line.starts_with("table ")).collect();
        let file = folder.path().join("tables.sql");
        std::fs::write(&file, statements.join("\n")).unwrap();
        let lint = output(halite().args(["key", "lint", "--fail-on", "warning"]).arg(file));
        let found = String::from_utf8(lint.stdout).unwrap();
        assert!(lint.status.success(), "{found}");
    }
}

#[test]
fn measurements_are_json_lines_with_processor_time() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    assert_eq!(step(data, &["user-ops", "gen", "--scale", "500"]).0, Some(0));
    let load = ["user-ops", "bench", "--rate", "500", "--duration", "400ms"];
    let (code, out, error) = step(data, &[&load[..], &["--json"]].concat());
    assert_eq!(code, Some(0), "{error}");
    let lines: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (all, operations) = lines.split_last().unwrap();
    assert!(!operations.is_empty(), "{out}");
    for line in &lines {
        assert_eq!((&line["recipe"], &line["items"]), (&"user-ops".into(), &500.into()), "{line}");
    }
    for line in operations {
        let [p50, p99] = ["p50_ms", "p99_ms"].map(|name| line[name].as_f64().unwrap());
        assert!(0.0 < p50 && p50 <= p99 && line["errors"] == 0, "{line}");
    }
    let counted: u64 = operations.iter().map(|line| line["count"].as_u64().unwrap()).sum();
    assert_eq!((&all["operation"], all["count"].as_u64()), (&"all".into(), Some(counted)));
    assert!(all["server_cpu_us_per_operation"].as_f64() > Some(0.0), "{all}");

    let (code, out, _) = step(data, &load);
    assert!(code == Some(0) && out.contains(" s of processor time of this process"), "{out}");
    let (code, _, error) = step(data, &[&load[..], &["--server-pid", "1"]].concat());
    assert!(code == Some(2) && error.contains("--connect"), "{error}");
}
