//! `halite recipe` when something goes wrong: servers and programs that are killed in the middle,
//! tables that are not those of the recipe, two programs at once. What is run again is right.

use std::path::{Path, PathBuf};
use std::time::Duration;

use halite::{BlockingCluster, Get};
use halite_patience::Program;
use rustix::process::Signal;

use crate::program::{await_that, ended, halite, output};
use crate::serve::TestServer;

const RECIPE: &str = "user-ops";
/// Items of a load that takes long enough to be interrupted.
const ITEMS: &str = "20000";

/// Runs a step, and returns its exit code, its output and its errors.
fn step(target: &[&str], arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = output(halite().args(["recipe", RECIPE]).args(arguments).args(target));
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn succeed(target: &[&str], arguments: &[&str]) -> String {
    let (code, out, error) = step(target, arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {out}{error}");
    out
}

fn fail(target: &[&str], arguments: &[&str]) -> String {
    let (code, out, error) = step(target, arguments);
    assert!(matches!(code, Some(1 | 2)), "{arguments:?}: {out}{error}");
    error
}

/// Starts a step in the background.
fn start(target: &[&str], arguments: &[&str]) -> Program {
    Program::start(halite().args(["recipe", RECIPE]).args(arguments).args(target)).unwrap()
}

/// Server on a store, and a client configuration with few retries: a killed server refuses its
/// connections at once, and one on a busy machine answers late.
struct Site {
    server: TestServer,
    file: PathBuf,
}

impl Site {
    fn start(folder: &Path) -> Self {
        let data = folder.join("data");
        let arguments = ["--data", data.to_str().unwrap(), "--wal-sync", "flush"];
        let server = TestServer::start_on_lasting_ports(&arguments);
        let file = folder.join("hbase-site.xml");
        let zookeeper = server.address("zookeeper");
        let properties = [
            ("hbase.zookeeper.quorum", zookeeper.ip().to_string()),
            ("hbase.zookeeper.property.clientPort", zookeeper.port().to_string()),
            ("hbase.client.operation.timeout", "60000".to_owned()),
            ("hbase.rpc.timeout", "30000".to_owned()),
            ("hbase.client.retries.number", "3".to_owned()),
        ];
        let property = |(name, value): &(&str, String)| {
            format!("<property><name>{name}</name><value>{value}</value></property>")
        };
        let text: String = properties.iter().map(property).collect();
        std::fs::write(&file, format!("<configuration>{text}</configuration>")).unwrap();
        Self { server, file }
    }

    fn uri(&self) -> String {
        format!("site:{}", self.file.display())
    }

    fn connect(&self) -> BlockingCluster {
        BlockingCluster::connect(&format!("zk://{}", self.server.address("zookeeper"))).unwrap()
    }

    /// Waits until a load has written rows.
    fn await_rows(&self) {
        let cluster = self.connect();
        let table = cluster.table("user_ops:operations").unwrap();
        let rows = || table.scan(halite::Scan::all()).count();
        let before = rows();
        await_that("the load has written rows", || rows() > before);
    }

    /// Waits until a number of items have been written.
    fn await_items(&self, items: u64) {
        let cluster = self.connect();
        await_that("items are written", || written(&cluster).is_some_and(|found| found >= items));
    }

    fn kill(self) {
        assert_eq!(self.server.end(Signal::KILL).0, None);
    }
}

/// Returns the progress of gen.
fn written(cluster: &BlockingCluster) -> Option<u64> {
    let row = cluster.table("recipes:loads").ok()?.get(Get::new("user_ops")).ok()?;
    Some(u64::from_be_bytes(row.value("p", "written")?.try_into().unwrap()))
}

/// Returns the answers of a store that was filled without interruption.
fn reference() -> String {
    let folder = tempfile::tempdir().unwrap();
    let target = ["--data", folder.path().to_str().unwrap()];
    succeed(&target, &["gen", "--scale", ITEMS]);
    succeed(&target, &["run"])
}

#[test]
fn every_recipe_is_measured_on_a_server_with_its_processor_time() {
    let server = TestServer::start(&["--ephemeral"]);
    let (uri, pid) = (format!("zk://{}", server.address("zookeeper")), server.id().to_string());
    let run = |arguments: &[&str]| {
        let ran = output(halite().arg("recipe").args(arguments).args(["--connect", &uri]));
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{arguments:?}: {said}");
        String::from_utf8(ran.stdout).unwrap()
    };
    for recipe in halite_recipes::recipes() {
        let name = recipe.about().name;
        run(&[name, "gen", "--scale", "300"]);
        let load = [name, "bench", "--rate", "100", "--duration", "400ms", "--threads", "4"];
        let out = run(&[&load[..], &["--json", "--server-pid", &pid]].concat());
        let lines: Vec<serde_json::Value> =
            out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (all, operations) = lines.split_last().unwrap();
        assert!(!operations.is_empty(), "{name}: {out}");
        for line in &lines {
            assert_eq!((&line["recipe"], &line["target"]), (&name.into(), &(*uri).into()));
        }
        assert_eq!((&all["errors"], &all["stopped"]), (&0.into(), &false.into()), "{all}");
        assert_eq!(all["count"], 40, "{all}");
        assert!(all["server_cpu_seconds"].as_f64() > Some(0.0), "{all}");
        let text = run(&[&load[..], &["--server-pid", &pid]].concat());
        assert!(text.contains(" s of processor time of the server, "), "{text}");
        let text = run(&load);
        assert!(!text.contains("processor time"), "of a server that was not named: {text}");
    }
    let ended = step(&["--connect", &uri], &["bench", "--server-pid", "4194305"]);
    assert!(ended.0 == Some(1) && ended.2.contains("there is no such process"), "{ended:?}");
    assert_eq!(server.end(Signal::TERM).0, Some(0));
}

#[test]
fn gen_resumes_after_its_server_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::start(folder.path());
    let program = start(&["--connect", &site.uri()], &["gen", "--scale", ITEMS]);
    site.await_items(2_000);
    site.kill();
    let output = ended(program);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("run gen again"), "{error}");

    let site = Site::start(folder.path());
    let (uri, half) = (site.uri(), fail(&["--connect", &site.uri()], &["run"]));
    assert!(half.contains("run gen again with --scale 20000 --seed 1 to resume"), "{half}");
    let resumed = succeed(&["--connect", &uri], &["gen", "--scale", ITEMS]);
    assert!(!resumed.contains(" 0 were there"), "{resumed}");
    assert_eq!(succeed(&["--connect", &uri], &["run"]), reference());
    assert_eq!(site.server.end(Signal::TERM).0, Some(0));
}

#[test]
fn bench_and_run_fail_when_their_server_is_killed_and_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::start(folder.path());
    succeed(&["--connect", &site.uri()], &["gen", "--scale", ITEMS]);
    let expected = succeed(&["--connect", &site.uri()], &["run"]);
    let load = ["bench", "--rate", "200", "--duration", "10min", "--threads", "4"];
    let program = start(&["--connect", &site.uri()], &load);
    site.await_rows();
    site.kill();
    let output = ended(program);
    let (out, error) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(1), "{out}{error}");
    assert!(out.contains("the load was stopped after ") && out.contains("record"), "{out}");
    assert!(error.contains(" operations failed, the first of them: "), "{error}");

    // A server that hangs in the middle of a call, and then is gone.
    let mut site = Site::start(folder.path());
    site.server.signal(Signal::STOP);
    let program = start(&["--connect", &site.uri()], &["run"]);
    site.kill();
    let output = ended(program);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && !error.is_empty(), "{error}");

    let site = Site::start(folder.path());
    // The load has added operations after those of the first days.
    let first_days = |text: &str| -> String {
        let lines = text.lines().skip_while(|line| !line.contains("the first 30 days"));
        lines.take(6).collect::<Vec<_>>().join("\n")
    };
    let found = succeed(&["--connect", &site.uri()], &["run"]);
    assert!(first_days(&expected).lines().count() == 6, "{expected}");
    assert_eq!(first_days(&found), first_days(&expected));
    let again = ["bench", "--rate", "100", "--duration", "300ms"];
    assert!(succeed(&["--connect", &site.uri()], &again).contains("; 0 errors"));
    assert_eq!(site.server.end(Signal::TERM).0, Some(0));
}

/// With HBase's timeouts the client waits for minutes.
#[test]
fn bench_says_that_its_server_is_gone_and_ends_before_its_client_gives_up() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::start(folder.path());
    let uri = format!("zk://{}", site.server.address("zookeeper"));
    let pid = site.server.id().to_string();
    succeed(&["--connect", &uri], &["gen", "--scale", "500"]);
    let load = ["bench", "--rate", "200", "--duration", "10min", "--threads", "4"];
    let program = start(&["--connect", &uri, "--server-pid", &pid], &load);
    site.await_rows();
    site.kill();
    let output = ended(program);
    let (out, error) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(1), "{out}{error}");
    assert!(error.contains("halite: no operation has succeeded for 2."), "{error}");
    assert!(error.contains("check the store or its servers"), "{error}");
    assert!(out.contains("the load was stopped after ") && out.contains("record"), "{out}");
    assert!(out.contains("no operation succeeded for 12."), "{out}");
}

#[test]
fn gen_that_is_killed_again_and_again_has_the_same_items() {
    let folder = tempfile::tempdir().unwrap();
    let target = ["--data", folder.path().to_str().unwrap()];
    let mut kills = 0;
    for attempt in 0.. {
        let mut program = start(&target, &["gen", "--scale", ITEMS]);
        std::thread::sleep(Duration::from_millis(20 << attempt));
        // It has no effect on a process that has ended.
        program.child().kill().unwrap();
        if ended(program).status.success() {
            break;
        }
        kills += 1;
    }
    assert!(kills > 1, "it was killed {kills} times");
    let out = succeed(&target, &["gen", "--scale", ITEMS]);
    assert!(out.contains("0 operations written, 20,000 were there"), "{out}");
    assert_eq!(succeed(&target, &["run"]), reference());
}

#[test]
fn two_programs_at_once_leave_tables_that_a_third_completes() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::start(folder.path());
    let (uri, gen_step) = (site.uri(), ["gen", "--scale", ITEMS]);
    let target = ["--connect", &uri[..]];
    let programs = [start(&target, &gen_step), start(&target, &gen_step)];
    let outputs = programs.map(ended);
    for output in &outputs {
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() || error.contains("another program"), "{error}");
        assert!(output.status.success() || error.contains("run gen again"), "{error}");
    }
    assert!(outputs.iter().any(|output| output.status.success()), "{outputs:?}");
    // With other items the second one is refused, while the first fills the tables or after it.
    let error = fail(&target, &["gen", "--scale", ITEMS, "--seed", "2"]);
    assert!(error.contains("of seed 1") && error.contains("init --drop"), "{error}");
    let out = succeed(&target, &gen_step);
    assert!(out.contains("20,000 were there"), "{out}");
    assert_eq!(succeed(&target, &["run"]), reference());

    // Two loads at once, whose writes have the same keys and values.
    let load = ["bench", "--rate", "200", "--duration", "400ms"];
    for output in [start(&target, &load), start(&target, &load)].map(ended) {
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && out.contains("; 0 errors"), "{out}");
    }
    assert_eq!(site.server.end(Signal::TERM).0, Some(0));
}

#[test]
fn second_program_on_an_embedded_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let target = ["--data", folder.path().to_str().unwrap()];
    let store = halite::open(folder.path()).unwrap();
    let error = fail(&target, &["gen", "--scale", "100"]);
    assert!(error.contains("another process"), "{error}");
    store.close().unwrap();
    succeed(&target, &["gen", "--scale", "100"]);
}

#[test]
fn tables_of_another_schema_are_refused_by_every_step() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let target = ["--data", data];
    let shell = |lines: &str| {
        let ran = crate::program::output_of(halite().args(["shell", "-n", "--data", data]), lines);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        String::from_utf8(ran.stdout).unwrap()
    };
    shell(
        "create_namespace 'user_ops'\ncreate 'user_ops:operations', 'o'\nput 'user_ops:operations', 'mine', 'o:q', 'v'\n",
    );
    for arguments in [&["init"][..], &["gen", "--scale", "100"], &["bench", "--duration", "1s"]] {
        let error = fail(&target, arguments);
        let expected = if arguments[0] == "bench" {
            "run gen first"
        } else {
            "user_ops:operations exists with another schema"
        };
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    assert!(shell("scan 'user_ops:operations'\n").contains("mine"), "nothing was changed");

    // Filled by the recipe, then changed: what is read is refused, and not read wrongly.
    succeed(&target, &["init", "--drop"]);
    succeed(&target, &["gen", "--scale", "100"]);
    shell("alter 'user_ops:operations', NAME => 'o', VERSIONS => 5\n");
    let load = ["bench", "--duration", "1s"];
    for arguments in [&["run"][..], &["explain"], &load, &["gen", "--scale", "100"]] {
        let error = fail(&target, arguments);
        assert!(error.contains("exists with another schema"), "{arguments:?}: {error}");
    }
    succeed(&target, &["init", "--drop"]);
    succeed(&target, &["gen", "--scale", "100"]);
}

#[test]
fn wrong_scales_and_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let target = ["--data", folder.path().to_str().unwrap()];
    for (arguments, expected) in [
        (&["gen", "--scale", "3"][..], "4..="),
        (&["gen", "--scale", "100000000000"], "4..="),
        (&["gen", "--scale", "many"], "invalid value 'many'"),
        (&["gen", "--scale", "-5"], "-5"),
        (&["gen", "--from", "/nowhere.csv"], "/nowhere.csv"),
        (&["bench", "--rate", "0"], "1..="),
        (&["bench", "--threads", "0"], "1..="),
        (&["bench", "--duration", "soon"], "soon"),
    ] {
        let error = fail(&target, arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    succeed(&target, &["gen", "--scale", "100"]);
    for scale in ["99", "101"] {
        let error = fail(&target, &["gen", "--scale", scale]);
        assert!(error.contains("contain 100 operations of seed 1"), "{error}");
    }
    assert!(succeed(&target, &["gen", "--scale", "100"]).contains("100 were there"));
}

/// Processes of servers that a command of a check starts: the test ends them.
struct Restarted(PathBuf);

impl Drop for Restarted {
    fn drop(&mut self) {
        let pids = std::fs::read_to_string(&self.0).unwrap_or_default();
        for pid in pids.lines().filter_map(|line| line.parse().ok()) {
            if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
    }
}

#[test]
fn checks_are_correct_when_the_server_is_killed_in_the_middle() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::start(folder.path());
    let pids = folder.path().join("pids");
    let _restarted = Restarted(pids.clone());
    std::fs::write(&pids, format!("{}\n", site.server.id())).unwrap();
    let ports: String = ["master", "regionserver", "zookeeper", "http"]
        .map(|of| format!("--{of}-port {} ", site.server.address(of).port()))
        .concat();
    let (program, path) = (halite(), folder.path().display());
    let script = folder.path().join("crash.sh");
    let text = format!(
        "kill -9 $(tail -n 1 {pids})\n\
         # The store and the ports are those of the killed server until it has ended.\n\
         for attempt in $(seq 100); do\n\
             {program} serve --data {path}/data --wal-sync flush {ports} > {path}/log 2>&1 &\n\
             until grep -q ^ready {path}/log; do kill -0 $! || {{ sleep 0.2; continue 2; }}; sleep 0.1; done\n\
             echo $! >> {pids}\n\
             exit 0\n\
         done\n\
         exit 1\n",
        pids = pids.display(),
        program = program.get_program().display(),
    );
    std::fs::write(&script, text).unwrap();
    let crash = format!("sh {}", script.display());
    let uri = format!("zk://{}", site.server.address("zookeeper"));
    let check = |recipe: &str, crash: &str| {
        let arguments = ["recipe", recipe, "check", "--scale", "400", "--connect", &uri];
        output(halite().args(arguments).args(["--crash", crash]))
    };
    for recipe in ["messages", "files", "wide-user"] {
        let ended = check(recipe, &crash);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, error) = (text(&ended.stdout), text(&ended.stderr));
        assert!(ended.status.success(), "{out}{error}");
        assert!(out.contains("server killed and started again, and writer killed"), "{out}");
    }
    let ended = check("wide-user", "exit 3");
    let error = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && error.contains("the command of --crash ended"), "{error}");
    assert_eq!(std::fs::read_to_string(&pids).unwrap().lines().count(), 4);
}
