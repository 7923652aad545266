//! Single faults in an otherwise healthy cluster: each call ends in time, and its error contains
//! the location and cause.

use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use halite_types::{Cluster as _, Error, ErrorKind, Get, Put, RowOp, Scan, Table, TableExt};
use tokio::time::Instant;

use super::cluster::{FAMILY, PORT, SharedCluster, TABLE, TableState};
use super::net::open_sockets;
use super::{Simulation, config};
use crate::{Config, RegistryKind, connect_with};

/// Runs a scenario: a client's program in a cluster that it may change.
fn play<F: Future<Output = ()> + 'static>(
    seed: u64,
    program: impl FnOnce(Config, SharedCluster) -> F,
) {
    let mut storm = Simulation::new(seed);
    let servers: Vec<String> = storm.names().iter().map(|name| format!("{name}:{PORT}")).collect();
    let mut config = config(&mut storm.rng, &servers);
    config.registry = RegistryKind::Rpc { servers };
    (config.operation_timeout_ms, config.rpc_timeout_ms, config.connect_timeout_ms) =
        (4_000, 800, 1_000);
    (config.max_retries, config.pause_ms, config.failed_server_expiry_ms) = (100, 20, 100);
    let program = program(config, Rc::clone(&storm.cluster));
    storm.sim.client("client", async move {
        // Until all regions are open and listed in meta.
        tokio::time::sleep(Duration::from_secs(1)).await;
        program.await;
        Ok(())
    });
    while storm.step() {}
}

async fn table(config: Config) -> std::sync::Arc<dyn Table> {
    connect_with(config).await.unwrap().table(&TABLE.parse().unwrap())
}

fn put(row: &str) -> RowOp {
    Put::new(row.to_string()).add(FAMILY, "q0", row).into()
}

fn assert_message(error: &Error, parts: &[&str]) {
    let missing: Vec<_> = parts.iter().filter(|part| !error.message().contains(**part)).collect();
    assert!(missing.is_empty(), "{missing:?} is not in: {error}");
}

#[test]
fn silent_server_does_not_delay_registry_lookup() {
    for seed in 0..6 {
        play(seed, |mut config, cluster| async move {
            config.connect_timeout_ms = 60_000;
            let (meta, servers) = (
                cluster.borrow().registered_meta_server.unwrap().server,
                cluster.borrow().nodes.len(),
            );
            let silent = (0..servers).find(|server| *server != meta).unwrap();
            turmoil::hold("client", format!("rs{silent}"));
            let begun = Instant::now();
            connect_with(config.clone()).await.unwrap();
            assert!(
                begun.elapsed() < Duration::from_millis(config.operation_timeout_ms),
                "{:?}",
                begun.elapsed()
            );
        });
    }
}

#[test]
fn unresponsive_registry_fails_within_operation_timeout() {
    play(1, |mut config, cluster| async move {
        (config.connect_timeout_ms, config.rpc_timeout_ms) = (60_000, 60_000);
        let table = table(config).await;
        let names: Vec<String> =
            cluster.borrow().nodes.iter().map(|node| node.name.clone()).collect();
        names.into_iter().for_each(|name| turmoil::hold("client", name));
        let begun = Instant::now();
        let error = table.mutate(put("a")).await.unwrap_err();
        assert!(begun.elapsed() <= Duration::from_millis(4_025), "{:?}", begun.elapsed());
        assert_message(
            &error,
            &[
                "table t, looking a region up: the cluster at rpc://rs",
                "server rs",
                "none in 1000 ms",
            ],
        );
    });
}

#[test]
fn unreachable_meta_server_error_names_the_table() {
    play(2, |config, cluster| async move {
        let table = table(config).await;
        let meta = cluster.borrow().registered_meta_server.unwrap();
        table.mutate(put("a")).await.unwrap();
        cluster.borrow_mut().nodes[meta.server].behavior.is_mute = true;
        // Cached locations of the table are evicted when its regions have moved.
        cluster.borrow_mut().regions.values_mut().for_each(|region| region.server = None);
        let begun = Instant::now();
        let error = table.mutate(put("a")).await.unwrap_err();
        assert!(begun.elapsed() <= Duration::from_millis(4_025), "{:?}", begun.elapsed());
        assert_message(
            &error,
            &["table t", &format!("server rs{}", meta.server), "given up after"],
        );
    });
}

#[test]
fn callers_sharing_a_meta_lookup_receive_its_failure() {
    play(7, |config, cluster| async move {
        let table = table(config).await;
        let meta = cluster.borrow().registered_meta_server.unwrap();
        table.regions().await.unwrap();
        cluster.borrow_mut().nodes[meta.server].behavior.is_mute = true;
        cluster.borrow_mut().regions.values_mut().for_each(|region| region.server = None);
        let puts = (0..20).map(|number| {
            let table = std::sync::Arc::clone(&table);
            tokio::spawn(async move { table.mutate(put(&format!("{number}"))).await.unwrap_err() })
        });
        let begun = Instant::now();
        for put in puts.collect::<Vec<_>>() {
            let error = put.await.unwrap();
            assert_message(
                &error,
                &["table t", "region ", &format!("server rs{}", meta.server), "given up after"],
            );
        }
        assert!(begun.elapsed() <= Duration::from_millis(4_025), "{:?}", begun.elapsed());
    });
}

#[test]
fn unread_scans_do_not_block_other_calls() {
    play(8, |mut config, _| async move {
        config.max_calls_in_flight = 1;
        let table = table(config).await;
        for number in 0..200 {
            table
                .mutate(put(&format!("{}{number}", char::from(b'a' + number % 26))))
                .await
                .unwrap();
        }
        let mut scans = Vec::new();
        for _ in 0..5 {
            // The next response is requested as soon as the first one has arrived.
            let mut stream = table.scan(Scan::all());
            assert!(stream.next().await.unwrap().is_some());
            scans.push(stream);
        }
        let begun = Instant::now();
        for row in ["a", "e", "k", "q", "v"] {
            table.mutate(put(row)).await.unwrap();
        }
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    });
}

#[test]
fn unknown_server_in_meta_is_named_in_error() {
    play(3, |config, cluster| async move {
        let table = table(config).await;
        for row in cluster.borrow_mut().meta.values_mut() {
            row.server.as_mut().unwrap().host = "nowhere".to_string();
        }
        let error = table.mutate(put("a")).await.unwrap_err();
        assert_message(
            &error,
            &["table t, region t,,", "server nowhere,16020,", "no connection", "given up after"],
        );
    });
}

#[test]
fn meta_hole_is_reported_when_retries_end() {
    play(4, |config, cluster| async move {
        let table = table(config).await;
        cluster.borrow_mut().meta.clear();
        let error = table.get(Get::new("r")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSuchRegion);
        assert_message(
            &error,
            &["table t, looking a region up", "hbase:meta has a hole there", "given up after"],
        );
    });
}

#[test]
fn dropped_or_disabled_table_fails_scan_and_batch_promptly() {
    let ends = [
        (TableState::Dropped, ErrorKind::NoSuchTable, "does not exist"),
        (TableState::Disabled, ErrorKind::TableDisabled, "is disabled"),
    ];
    for (state, kind, text) in ends {
        play(5, move |config, cluster| async move {
            let table = table(config).await;
            let rows: Vec<String> = (0..100)
                .map(|number| format!("{}{number:02}", char::from(b'a' + number % 26)))
                .collect();
            for rows in rows.chunks(10) {
                table.batch(rows.iter().map(|row| put(row)).collect()).await.unwrap();
            }
            let mut stream = table.scan(Scan::all());
            assert!(stream.next().await.unwrap().is_some());
            cluster.borrow_mut().close_table(state);
            let begun = Instant::now();
            let error = loop {
                match stream.next().await {
                    Ok(row) => assert!(row.is_some(), "the scan ended as if nothing had happened"),
                    Err(error) => break error,
                }
            };
            assert!(
                error.kind() == kind && begun.elapsed() < Duration::from_secs(2),
                "{error:?} after {:?}",
                begun.elapsed()
            );
            assert_message(&error, &["table t", text]);
            for result in table
                .batch(rows.iter().map(|row| put(row)).collect())
                .await
                .unwrap_or_else(|error| vec![Err(error)])
            {
                assert_message(&result.unwrap_err(), &["table t", text]);
            }
        });
    }
}

#[test]
fn connections_to_terminated_servers_are_closed() {
    let mut storm = Simulation::new(6);
    let names = storm.names();
    let mut config = config(&mut storm.rng, &names);
    config.operation_timeout_ms = 60_000;
    (config.rpc_timeout_ms, config.connect_timeout_ms, config.max_retries) = (500, 500, 1_000);
    let servers = names.len();
    storm.sim.client("client", async move {
        let table = table(config).await;
        for round in 0..100 {
            for row in ["a", "e", "k", "q", "v"] {
                table.mutate(put(&format!("{row}{round}"))).await?;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
            // One to the registry's service and one to the rows of each server.
            assert!(
                open_sockets() <= servers * 2,
                "{} connections to {servers} servers",
                open_sockets()
            );
        }
        Ok(())
    });
    for at in (2_000..60_000).step_by(4_000) {
        // Servers without regions receive no calls, but crash as well.
        storm.after(at..at + 1, Simulation::gather);
        storm.after(at + 2_000..at + 2_001, Simulation::crash);
    }
    while storm.step() {}
}
