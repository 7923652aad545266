//! Merged columns and sharded counters through the library: on an embedded store and on a server,
//! merged there (`MERGE`) or by reading and writing, as on HBase.

use halite::{
    Bitmap, BlockingCluster, Error, ErrorKind, FamilyDescriptor, Get, Hll, MergeOperator,
    MergedColumn, Ring, ShardedCounters, TableDescriptor, block_on,
};

use crate::backends::{connect, open};

const THREADS: u32 = 4;
const ITEMS: u32 = 50;

fn contribution(operator: MergeOperator, number: u32) -> Vec<u8> {
    match operator {
        MergeOperator::Hll => Hll::of(&number.to_be_bytes()).to_bytes(),
        MergeOperator::Bitmap => Bitmap::of(number).to_bytes(),
        _ => i64::from(number).to_be_bytes().to_vec(),
    }
}

/// Contributes from several threads, and repeats what failed since others were faster.
fn contribute_all(cluster: &BlockingCluster, family: FamilyDescriptor, operator: MergeOperator) {
    let name = format!("merged_{operator}_{}", family.attributes.len());
    let table = TableDescriptor::new(name.parse().unwrap()).family(family);
    cluster.create_table(table, &[]).unwrap();
    let table = cluster.table(&*name).unwrap();
    let column = MergedColumn::new("row", "f", "q");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (table, column) = (&table, &column);
            scope.spawn(move || {
                for number in (thread..ITEMS).step_by(THREADS as usize) {
                    let value = contribution(operator, number);
                    while let Err(error) = table.contribute(column, operator, &value) {
                        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
                    }
                }
            });
        }
    });
    let expected = (0..ITEMS)
        .map(|number| contribution(operator, number))
        .reduce(|all, more| operator.merge(&all, &more).unwrap())
        .unwrap();
    let row = table.get(Get::new("row")).unwrap();
    assert_eq!(row.len(), 1);
    assert_eq!(row.value("f", "q"), Some(&expected[..]), "{name}");
    cluster.disable_table(&*name).unwrap();
    cluster.drop_table(&*name).unwrap();
}

fn check(cluster: &BlockingCluster) {
    for operator in MergeOperator::ALL {
        contribute_all(cluster, FamilyDescriptor::new("f"), operator);
        contribute_all(cluster, FamilyDescriptor::new("f").set("MERGE", operator), operator);
    }
}

fn check_counters(cluster: &BlockingCluster, family: FamilyDescriptor) -> Result<(), Error> {
    let counters = ShardedCounters::new(8, "f", "n")?;
    let name = format!("counters_{}", family.attributes.len());
    let table = TableDescriptor::new(name.parse()?).family(family);
    let splits = counters.splits();
    let splits: Vec<&[u8]> = splits.iter().map(|split| &split[..]).collect();
    cluster.create_table(table, &splits)?;
    let table = cluster.table(&*name)?;
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let ops = (0..250).map(|_| counters.increment(b"logins", 1)).collect();
                table.batch(ops).unwrap().into_iter().for_each(|result| drop(result.unwrap()));
            });
        }
    });
    assert_eq!(table.counter(&counters, b"logins")?, 1000);
    assert_eq!(table.counter(&counters, b"none")?, 0);
    assert_eq!(table.regions()?.len(), 8);
    cluster.disable_table(&*name)?;
    cluster.drop_table(&*name)
}

#[test]
fn contributions_of_concurrent_writers_are_merged_in_a_store() {
    let directory = tempfile::tempdir().unwrap();
    check(&open(&directory));
}

#[test]
fn contributions_of_concurrent_writers_are_merged_on_a_server() {
    check(&connect());
}

#[test]
fn stores_and_servers_say_that_they_merge() {
    let directory = tempfile::tempdir().unwrap();
    assert!(open(&directory).merges_cells().unwrap() && connect().merges_cells().unwrap());
}

#[test]
fn sharded_counters_add_up() {
    let directory = tempfile::tempdir().unwrap();
    for cluster in [open(&directory), connect()] {
        check_counters(&cluster, FamilyDescriptor::new("f")).unwrap();
        check_counters(&cluster, FamilyDescriptor::new("f").set("MERGE", "SUM")).unwrap();
    }
}

#[test]
fn ring_keeps_the_last_values_once_each() {
    let directory = tempfile::tempdir().unwrap();
    for cluster in [open(&directory), connect()] {
        let family = FamilyDescriptor::new("f");
        cluster
            .create_table(TableDescriptor::new("ring".parse().unwrap()).family(family), &[])
            .unwrap();
        let (table, ring) = (cluster.table("ring").unwrap(), Ring::new("f", "r", 10).unwrap());
        for id in 1..=25_u64 {
            let push = || block_on(ring.push(&**table.inner(), "row", id, &id.to_be_bytes()));
            assert!(push().unwrap());
            assert!(!push().unwrap(), "after a lost reply");
        }
        let row = table.get(Get::new("row")).unwrap();
        let ids: Vec<u64> = ring.values(&row).unwrap().iter().map(|value| value.id).collect();
        assert_eq!(ids, (16..=25).rev().collect::<Vec<_>>());
        assert_eq!(row.len(), 11, "ten places and the number of values");
        cluster.disable_table("ring").unwrap();
        cluster.drop_table("ring").unwrap();
    }
}

#[test]
fn another_operator_than_that_of_the_family_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = open(&directory);
    let family = FamilyDescriptor::new("f").set("MERGE", "MAX");
    cluster.create_table(TableDescriptor::new("t".parse().unwrap()).family(family), &[]).unwrap();
    let table = cluster.table("t").unwrap();
    let column = MergedColumn::new("row", "f", "q");
    let error = table.contribute(&column, MergeOperator::Sum, &[0; 8]).unwrap_err();
    assert!(error.message().contains("merges by MAX, not by SUM"), "{error}");
}
