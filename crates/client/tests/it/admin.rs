//! Administration through the `Cluster` API, compared with what the store itself reports.

use std::sync::Arc;

use halite_types::{
    Admin, Attributes, Bytes, Cluster, CompactionKind, ErrorKind, FamilyDescriptor, Get, Put,
    Result, Scan, SnapshotDescriptor, TableDescriptor, TableExt, TableName,
};

use crate::server::{Server, name};

fn admin(server: &Server) -> Arc<dyn Admin> {
    server.connect().admin()
}

fn table(name: &str) -> TableName {
    name.parse().unwrap()
}

fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
    result.map_err(|error| error.kind()).err()
}

fn described(name: &str) -> TableDescriptor {
    TableDescriptor::new(table(name)).family(FamilyDescriptor::new("f").versions(2))
}

#[test]
fn tables_are_created_altered_disabled_truncated_and_dropped() {
    let server = Server::start();
    let admin = admin(&server);
    server.run(async {
        admin
            .create_table(described("new"), vec![Bytes::from("m"), Bytes::from("c")])
            .await
            .unwrap();
        assert_eq!(
            kind(admin.create_table(described("new"), Vec::new()).await),
            Some(ErrorKind::TableExists)
        );
        assert_eq!(
            kind(admin.create_table(described("ns:t"), Vec::new()).await),
            Some(ErrorKind::NoSuchNamespace)
        );
        assert_eq!(
            kind(admin.create_table(described("n2"), vec!["a".into(), "a".into()]).await),
            Some(ErrorKind::InvalidRequest)
        );
        let names: Vec<_> = admin
            .list_tables()
            .await
            .unwrap()
            .iter()
            .map(|table| table.name().to_string())
            .collect();
        assert_eq!(names, ["new", "t"]);
        let mut changed = (*server.engine.descriptor(&table("new")).unwrap()).clone();
        changed.set_family(FamilyDescriptor::new("g"));
        admin.alter_table(changed).await.unwrap();
        assert_eq!(server.engine.descriptor(&table("new")).unwrap().family_count(), 2);
        assert_eq!(
            kind(admin.alter_table(described("nowhere")).await),
            Some(ErrorKind::NoSuchTable)
        );
        assert_eq!(kind(admin.drop_table(&table("new")).await), Some(ErrorKind::TableEnabled));
        assert_eq!(kind(admin.enable_table(&table("new")).await), Some(ErrorKind::TableEnabled));
        admin.disable_table(&table("new")).await.unwrap();
        assert_eq!(kind(admin.disable_table(&table("new")).await), Some(ErrorKind::TableDisabled));
        assert!(!admin.is_enabled(&table("new")).await.unwrap());
        admin.truncate_table(&table("new"), true).await.unwrap();
        assert!(admin.is_enabled(&table("new")).await.unwrap());
        assert_eq!(server.engine.regions(&table("new")).unwrap().len(), 3);
        admin.disable_table(&table("new")).await.unwrap();
        admin.enable_table(&table("new")).await.unwrap();
        admin.disable_table(&table("new")).await.unwrap();
        admin.drop_table(&table("new")).await.unwrap();
        assert_eq!(kind(admin.is_enabled(&table("new")).await), Some(ErrorKind::NoSuchTable));
        assert_eq!(kind(admin.drop_table(&table("new")).await), Some(ErrorKind::NoSuchTable));
    });
}

#[test]
fn namespaces_are_created_altered_and_deleted() {
    let server = Server::start();
    let admin = admin(&server);
    server.run(async {
        let settings = |value: &str| {
            Attributes::from([("hbase.namespace.quota.maxtables".to_string(), value.to_string())])
        };
        admin.create_namespace("ns", settings("5")).await.unwrap();
        assert_eq!(
            kind(admin.create_namespace("ns", Attributes::new()).await),
            Some(ErrorKind::NamespaceExists)
        );
        admin.alter_namespace("ns", settings("6")).await.unwrap();
        assert_eq!(admin.list_namespaces().await.unwrap(), server.engine.namespaces());
        assert!(
            admin.list_namespaces().await.unwrap().contains(&("ns".to_string(), settings("6")))
        );
        admin.create_table(described("ns:t"), Vec::new()).await.unwrap();
        assert_eq!(kind(admin.drop_namespace("ns").await), Some(ErrorKind::NamespaceNotEmpty));
        assert_eq!(kind(admin.drop_namespace("nowhere").await), Some(ErrorKind::NoSuchNamespace));
        admin.disable_table(&table("ns:t")).await.unwrap();
        admin.drop_table(&table("ns:t")).await.unwrap();
        admin.drop_namespace("ns").await.unwrap();
    });
}

#[test]
fn regions_are_listed_flushed_compacted_split_and_merged() {
    let server = Server::start();
    server.fill(('a'..='z').map(String::from));
    let (cluster, admin) = (server.connect(), admin(&server));
    let handle = cluster.table(&name());
    server.run(async {
        assert_eq!(handle.regions().await.unwrap(), server.engine.regions(&name()).unwrap());
        let described = handle.descriptor().await.unwrap();
        assert_eq!(
            described.families().map(FamilyDescriptor::max_versions).collect::<Vec<_>>(),
            [3, 1]
        );
        assert_eq!(
            kind(admin.flush_family(&name(), "nosuch".into()).await),
            Some(ErrorKind::NoSuchFamily)
        );
        // The rows are in the other one.
        admin.flush_family(&name(), "g".into()).await.unwrap();
        assert_eq!(server.engine.status().regions.iter().map(|load| load.flushes).sum::<u64>(), 0);
        admin.flush(&name()).await.unwrap();
        server.fill(('a'..='z').map(String::from));
        admin.flush(&name()).await.unwrap();
        assert_eq!(kind(admin.flush(&table("nowhere")).await), Some(ErrorKind::NoSuchTable));
        let loads = |status: halite_types::ClusterStatus| {
            status.regions.into_iter().filter(|load| load.region.table == name())
        };
        let files = |status| loads(status).map(|load| load.store_files).collect::<Vec<_>>();
        assert_eq!(files(admin.cluster_status().await.unwrap()), [2, 2, 2]);
        admin.compact(&name(), None, CompactionKind::Major).await.unwrap();
        assert_eq!(files(admin.cluster_status().await.unwrap()), [1, 1, 1]);
        assert_eq!(
            kind(admin.compact(&name(), Some("nosuch".into()), CompactionKind::Minor).await),
            Some(ErrorKind::NoSuchFamily)
        );
        admin.split_region(&server.region("b"), Some("d".into())).await.unwrap();
        assert_eq!(kind(admin.split_region("nosuch", None).await), Some(ErrorKind::NoSuchRegion));
        assert_eq!(
            kind(admin.split_region(&server.region("b"), Some("z".into())).await),
            Some(ErrorKind::InvalidRequest)
        );
        assert_eq!(handle.regions().await.unwrap().len(), 4);
        admin.merge_regions(&server.region("a"), &server.region("d"), false).await.unwrap();
        assert_eq!(handle.regions().await.unwrap().len(), 3);
        assert_eq!(
            kind(cluster.table(&table("nowhere")).regions().await),
            Some(ErrorKind::NoSuchTable)
        );
        assert_eq!(
            kind(cluster.table(&table("nowhere")).descriptor().await),
            Some(ErrorKind::NoSuchTable)
        );
    });
}

#[test]
fn snapshots_are_created_cloned_restored_and_deleted() {
    let server = Server::start();
    server.fill(["a", "k", "z"].map(String::from));
    let (cluster, admin) = (server.connect(), admin(&server));
    server.run(async {
        admin.create_snapshot(SnapshotDescriptor::new("s", name())).await.unwrap();
        assert_eq!(
            kind(admin.create_snapshot(SnapshotDescriptor::new("s", name())).await),
            Some(ErrorKind::SnapshotExists)
        );
        assert_eq!(
            kind(admin.create_snapshot(SnapshotDescriptor::new("s2", table("nowhere"))).await),
            Some(ErrorKind::NoSuchTable)
        );
        assert_eq!(admin.list_snapshots().await.unwrap(), server.engine.snapshots());
        admin.clone_snapshot("s", &table("copy")).await.unwrap();
        assert!(!cluster.table(&table("copy")).get(Get::new("k")).await.unwrap().is_empty());
        assert_eq!(
            kind(admin.clone_snapshot("s", &table("copy")).await),
            Some(ErrorKind::TableExists)
        );
        assert_eq!(
            kind(admin.clone_snapshot("nosuch", &table("copy2")).await),
            Some(ErrorKind::NoSuchSnapshot)
        );
        cluster.table(&name()).mutate(Put::new("new").add("f", "q", "v").into()).await.unwrap();
        assert_eq!(kind(admin.restore_snapshot("s").await), Some(ErrorKind::TableEnabled));
        admin.disable_table(&name()).await.unwrap();
        admin.restore_snapshot("s").await.unwrap();
        assert!(!admin.is_enabled(&name()).await.unwrap());
        admin.enable_table(&name()).await.unwrap();
        assert!(cluster.table(&name()).get(Get::new("new")).await.unwrap().is_empty());
        admin.delete_snapshot("s").await.unwrap();
        assert_eq!(kind(admin.delete_snapshot("s").await), Some(ErrorKind::NoSuchSnapshot));
        assert_eq!(kind(admin.restore_snapshot("s").await), Some(ErrorKind::NoSuchSnapshot));
    });
}

#[test]
fn meta_is_read_like_any_table() {
    let server = Server::start();
    let meta = server.connect().table(&table("hbase:meta"));
    server.run(async {
        let mut rows = meta.scan(Scan::all().family("info").max_result_bytes(100));
        let mut seen = 0;
        while let Some(row) = rows.next().await.unwrap() {
            seen += usize::from(row.key().starts_with(b"t,"));
        }
        assert_eq!(seen, 3);
        assert_eq!(meta.regions().await.unwrap().len(), 1);
    });
}

/// Writes a file with these rows of family `f`.
fn write_store_file(directory: &std::path::Path, file: &str, rows: &[&str]) {
    use halite_engine::env::Env;
    use halite_engine::hfile::{StoreFileInfo, Writer, WriterOptions};
    let out = Env::os(directory).unwrap().fs.create(file).unwrap();
    let mut writer = Writer::create(out, file, WriterOptions::default()).unwrap();
    for row in rows {
        let put = Put::new((*row).to_owned()).add_at("f", "q", 5, "loaded");
        put.mutation().cells().iter().for_each(|cell| writer.append(cell).unwrap());
    }
    writer.finish(StoreFileInfo::default()).unwrap();
}

#[test]
fn staged_files_are_loaded_into_their_region_only() {
    let server = Server::start();
    let (admin, table) = (admin(&server), server.connect().table(&name()));
    server.run(async {
        let staging = admin.prepare_bulk_load(&name()).await.unwrap();
        let directory = std::path::PathBuf::from(staging.strip_prefix("file:").unwrap());
        write_store_file(&directory, "one", &["a", "b"]);
        write_store_file(&directory, "both", &["c", "z"]);
        let regions = table.regions().await.unwrap();
        let load = |file: &str| {
            halite_types::BulkLoad::new().file("f", format!("{staging}/{file}")).copied()
        };
        let into = |region: usize, file: &str| {
            admin.bulk_load_region(&regions[region], &staging, load(file))
        };
        assert!(!into(0, "both").await.unwrap(), "it has rows of other regions");
        assert!(!into(1, "one").await.unwrap());
        assert!(into(0, "one").await.unwrap());
        assert!(directory.join("one").exists(), "the server copies it");
        assert_eq!(kind(into(0, "none").await), Some(ErrorKind::InvalidRequest));
        assert_eq!(table.get(Get::new("b")).await.unwrap().len(), 1);
        assert!(table.get(Get::new("c")).await.unwrap().is_empty());
        admin.split_region(&regions[0].encoded_name, Some("b".into())).await.unwrap();
        assert!(!into(0, "one").await.unwrap(), "the region was split");
        admin.clean_up_bulk_load(&name(), &staging).await.unwrap();
        assert!(!directory.exists());
        assert_eq!(
            kind(admin.prepare_bulk_load(&self::table("gone")).await),
            Some(ErrorKind::NoSuchTable)
        );
    });
}
