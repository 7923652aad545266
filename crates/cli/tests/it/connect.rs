//! Commands on a cluster: each works through the client as it does on a store.

use rustix::process::Signal;

use crate::demo;
use crate::program::{halite, output, output_of};
use crate::serve::TestServer;

/// Runs a command on a server: its output. It must succeed.
fn run(uri: &str, command: &str, arguments: &[&str], input: &str) -> String {
    let output = output_of(halite().args([command, "--connect", uri]).args(arguments), input);
    let (out, errors) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{command}: {out}{errors}");
    out
}

#[test]
fn shell_connects_by_zookeeper_or_rpc_address() {
    let served = TestServer::start(&["--ephemeral"]);
    let (zk, rpc) = (
        format!("zk://{}", served.address("zookeeper")),
        format!("rpc://{}", served.address("master")),
    );
    let lines = "create 't', {NAME => 'f', VERSIONS => 2}, SPLITS => ['m']\n\
                 put 't', 'a', 'f:q', 'old', 1\nput 't', 'a', 'f:q', 'new'\n\
                 incr 't', 'z', 'f:n', 5\n";
    let stdout = run(&zk, "shell", &["-n"], lines);
    assert!(stdout.contains("COUNTER VALUE = 5"), "{stdout}");
    let stdout = run(
        &rpc,
        "shell",
        &["-n"],
        "scan 't', {VERSIONS => 2}\ncount 't'\ndisable 't'\ndrop 't'\nlist\n",
    );
    for wanted in ["value=new", "value=old", "2 row(s)", "0 row(s)"] {
        assert!(stdout.contains(wanted), "no {wanted}:\n{stdout}");
    }
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn shell_prints_servers_of_cluster() {
    let served = TestServer::start(&["--ephemeral"]);
    let (uri, server) =
        (format!("zk://{}", served.address("zookeeper")), served.address("regionserver"));
    let lines = "create 't', 'f', SPLITS => ['m']\nput 't', 'a', 'f:q', '1'\nstatus\n\
                 status 'simple'\nstatus 'detailed'\nlist_regions 't'\n\
                 list_regions 't', 'nowhere'\nlocate_region 't', 'a'\n";
    let stdout = run(&uri, "shell", &[], lines);
    for wanted in [
        "1 active master, 0 backup masters, 1 servers, 0 dead, 4.0000 average load",
        &format!("active master:  {} ", served.address("master")),
        "version 2.6.4",
        &format!("\n    {server} "),
        "numberOfOnlineRegions=4, ",
        &format!(" {},{},", server.ip(), server.port()),
        " 2 rows",
        " 0 rows",
        &format!("HOST  REGION\n {server} "),
    ] {
        assert!(stdout.contains(wanted), "no {wanted:?} in\n{stdout}");
    }
    let refused = output_of(halite().args(["shell", "--connect", &uri]), "status 'replication'\n");
    let text = String::from_utf8(refused.stdout).unwrap();
    assert!(text.contains("not read by this shell"), "{text}");
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn server_rejects_invalid_keys_of_strict_table() {
    let served = TestServer::start(&["--ephemeral"]);
    let uri = format!("zk://{}", served.address("zookeeper"));
    let lines = "CREATE TABLE t (v STRING FAMILY d, ROW KEY (id U16)) WITH (ROW_KEY_STRICT = \
                 'true');\nput 't', 'ab', 'd:v', '1'\nput 't', 'odd', 'd:v', '1'\n\
                 incr 't', 'odd', 'd:n', 1\nappend 't', 'odd', 'd:v', '1'\ndeleteall 't', 'odd'\n\
                 count 't'\ncreate 'u', 'd', ROW_KEY_STRICT => true\n";
    let stdout = run(&uri, "shell", &[], lines);
    assert_eq!(stdout.matches("ROW_KEY_STRICT refuses it").count(), 3, "{stdout}");
    assert!(stdout.contains("1 row(s)") && stdout.contains("declares no ROW_KEY"), "{stdout}");
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn demo_prints_same_answers_for_cluster_and_store() {
    let served = TestServer::start(&["--ephemeral"]);
    let uri = format!("zk://{}", served.address("zookeeper"));
    let stdout = run(&uri, "demo", &[], "");
    demo::check_answers(&stdout, &demo::data());
    assert!(stdout.contains(&format!("halite shell --connect {uri}")), "{stdout}");
    assert!(run(&uri, "demo", &[], "").contains("nothing to do: all 26,115 rows were found"));
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn every_workload_runs_on_a_cluster() {
    let served = TestServer::start(&["--ephemeral"]);
    let uri = format!("zk://{}", served.address("zookeeper"));
    let stdout = run(&uri, "bench", &["--rows", "200", "--threads", "3", "--json"], "");
    assert!(stdout.lines().count() >= 10, "{stdout}");
    assert!(stdout.lines().all(|line| line.contains("\"durability\":\"default\"")), "{stdout}");
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn address_without_cluster_is_named_in_error() {
    let output = output(halite().args(["shell", "-n", "--connect", "http://localhost"]));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && stderr.contains("http://localhost") && stderr.contains("zk://"),
        "{stderr}"
    );
}
