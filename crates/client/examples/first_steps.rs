//! Creates a table on a cluster, writes to it, reads it back, and drops it:
//! `cargo run -p halite-client --example first_steps -- zk://localhost:2181/hbase`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use halite_client::connect;
use halite_types::key::to_string_binary;
use halite_types::{
    Bytes, CheckAndMutate, Cluster, Delete, ErrorKind, FamilyDescriptor, Get, Increment, Put,
    Result, RowOp, Scan, TableDescriptor, TableExt, TableName,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let uri = std::env::args().nth(1).unwrap_or_else(|| "zk://localhost:2181/hbase".to_string());
    let cluster = connect(&uri).await?;
    println!("connected to cluster {}", cluster.id());
    let name: TableName = "halite_first_steps".parse()?;
    let admin = cluster.admin();
    // Drops the table of an earlier run.
    if admin.disable_table(&name).await.is_ok() || admin.is_enabled(&name).await.is_ok() {
        admin.drop_table(&name).await?;
    }
    let description =
        TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("info").versions(3));
    admin.create_table(description, vec![Bytes::from("user_5")]).await?;
    use_table(&cluster, &name).await?;
    admin.flush(&name).await?;
    let status = admin.cluster_status().await?;
    for load in status.regions.iter().filter(|load| load.region.table == name) {
        println!(
            "region {}: {} store files, {} write requests",
            load.region.display_name(),
            load.store_files,
            load.write_requests
        );
    }
    admin.disable_table(&name).await?;
    let refused = cluster.table(&name).get(Get::new("user_1")).await;
    println!(
        "a get of a disabled table: {}",
        refused.err().map_or_else(|| "went through".to_string(), |error| error.to_string())
    );
    admin.drop_table(&name).await?;
    let gone = cluster.table(&name).get(Get::new("user_1")).await;
    assert_eq!(gone.map_err(|error| error.kind()).err(), Some(ErrorKind::NoSuchTable));
    println!("dropped table {name}");
    Ok(())
}

async fn use_table(cluster: &impl Cluster, name: &TableName) -> Result<()> {
    let table = cluster.table(name);
    println!("table {name} has {} regions", table.regions().await?.len());
    let put = |number: usize| {
        RowOp::from(
            Put::new(format!("user_{number}"))
                .add("info", "name", format!("Ada the {number}th"))
                .add("info", "age", "36"),
        )
    };
    for result in table.batch((0..10).map(put).collect()).await? {
        result?;
    }
    let row = table.get(Get::new("user_7")).await?;
    println!("user_7 is {}", to_string_binary(row.value("info", "name").unwrap_or_default()));
    let counted = table.mutate(Increment::new("user_7").add("info", "visits", 2).into()).await?;
    println!(
        "user_7 came {} times",
        to_string_binary(counted.row.value("info", "visits").unwrap_or_default())
    );
    let check = CheckAndMutate::if_equals(
        "user_7",
        "info",
        "age",
        "36",
        Put::new("user_7").add("info", "age", "37"),
    );
    println!("user_7 had a birthday: {}", table.mutate(check.into()).await?.processed);
    table.mutate(Delete::new("user_3").into()).await?;
    for reverse in [false, true] {
        let mut rows = table.scan(Scan::range("user_2", "user_8").reverse(reverse).limit(4));
        while let Some(row) = rows.next().await? {
            println!("{} has {} cells", to_string_binary(row.key()), row.len());
        }
    }
    Ok(())
}
