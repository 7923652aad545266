//! `status`, `version`, `whoami` and `table_help`.

use halite_types::{ClusterServers, ClusterStatus, RegionLoad, ServerName};

use super::regions::{SERVER, locality, megabytes};
use super::{Arguments, Group, ShellCommand};
use crate::shell::session::{EvalResult, Interrupt, Session};
use crate::shell::value::Value;

const BASE: ShellCommand = ShellCommand {
    name: "",
    aliases: &[],
    group: Group::General,
    count: (0, Some(0)),
    takes_table: false,
    options: &[],
    synopsis: "",
    about: "",
    examples: &[],
    run: |_, _| Ok(Value::Nil),
};

pub(super) const COMMANDS: &[ShellCommand] = &[
    ShellCommand {
        name: "status",
        count: (0, Some(2)),
        synopsis: "status ['summary' or 'simple' or 'detailed' or 'replication' [, 'source' or \
                   'sink']]",
        about: "Shows statistics of the store: its regions, their contents, and the requests since \
                it was opened.",
        examples: &["status", "status 'simple'", "status 'detailed'", "status 'replication'"],
        run: status,
        ..BASE
    },
    ShellCommand {
        name: "version",
        synopsis: "version",
        about: "Shows the version of this program.",
        examples: &["version"],
        run: |session, _| {
            session.print_line(concat!("halite ", env!("CARGO_PKG_VERSION"))).map(|()| Value::Nil)
        },
        ..BASE
    },
    ShellCommand {
        name: "whoami",
        synopsis: "whoami",
        about: "Shows who you are to the operating system; the store itself knows no users.",
        examples: &["whoami"],
        run: whoami,
        ..BASE
    },
    ShellCommand {
        name: "table_help",
        synopsis: "table_help",
        about: "A reference to a table has the commands that take a table as its methods: 't.put' \
                is 'put' with the table left out. create gives one back, and get_table makes one.",
        examples: &[
            "t = create 't1', 'f'",
            "t.put 'r1', 'f:a', 'value'",
            "t.get 'r1'",
            "t.scan {LIMIT => 10}",
            "t.disable",
            "t.drop",
            "t.help 'scan'",
        ],
        run: |session, _| {
            crate::shell::help::help(session, Some(&Value::text("table_help"))).map(|()| Value::Nil)
        },
        ..BASE
    },
];

fn whoami(session: &mut Session<'_>, _: &Arguments) -> EvalResult {
    let name = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    session.print_line(format!("{} (auth:SIMPLE)", name.as_deref().unwrap_or("unknown")))?;
    Ok(Value::Nil)
}

fn status(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let form = arguments.get(0).map_or_else(|| "summary".to_owned(), Value::to_text);
    let status = session.cluster().cluster_status()?;
    match form.as_str() {
        "summary" => session.print_line(summary(&status))?,
        "simple" => {
            servers(session, &status, false)?;
            session.print_line(format!("Aggregate load: 0, regions: {}", status.regions.len()))?;
        }
        "detailed" => {
            session.print_line(format!("version {}", version(&status)))?;
            session.print_line("0 regionsInTransition")?;
            servers(session, &status, true)?;
        }
        "replication" if status.servers.is_some() => {
            let text = "the replication of a cluster is not read by this shell; HBase's own shell \
                        prints it";
            return Err(Interrupt::Problem(text.to_owned()));
        }
        "replication" => replication(session, arguments.get(1).map(Value::to_text).as_deref())?,
        other => {
            let text = format!(
                "there is no status '{other}'; there are 'summary', 'simple', 'detailed' and \
                 'replication'"
            );
            return Err(Interrupt::Problem(text));
        }
    }
    Ok(Value::Nil)
}

/// Prints HBase's output for a store without replication, which Halite does not support.
fn replication(session: &mut Session<'_>, part: Option<&str>) -> EvalResult<()> {
    session.print_line(concat!("version halite ", env!("CARGO_PKG_VERSION")))?;
    session.print_line("1 live servers")?;
    session.print_line(format!("    {SERVER}:"))?;
    if part.is_none_or(|part| !part.eq_ignore_ascii_case("sink")) {
        session.print_line("       SOURCE:")?;
    }
    if part.is_none_or(|part| !part.eq_ignore_ascii_case("source")) {
        session.print_line("      SINK: Waiting for OPs...")?;
    }
    Ok(())
}

/// Version of the servers, or of this program for an embedded store.
fn version(status: &ClusterStatus) -> String {
    let of_servers = status.servers.as_ref().map(|servers| servers.version.clone());
    of_servers.unwrap_or_else(|| concat!("halite ", env!("CARGO_PKG_VERSION")).to_owned())
}

#[expect(clippy::cast_precision_loss, reason = "a mean number of regions")]
fn summary(status: &ClusterStatus) -> String {
    let embedded = ClusterServers::default();
    let servers = status.servers.as_ref().unwrap_or(&embedded);
    let (masters, live, regions) = match &status.servers {
        None => (1, 1, status.regions.len()),
        Some(servers) => {
            let regions = servers.live.iter().map(|server| server.regions).sum();
            (usize::from(servers.master.is_some()), servers.live.len(), regions)
        }
    };
    format!(
        "{masters} active master, {} backup masters, {live} servers, {} dead, {:.4} average load",
        servers.backup_masters.len(),
        servers.dead.len(),
        regions as f64 / live.max(1) as f64
    )
}

fn servers(
    session: &mut Session<'_>,
    status: &ClusterStatus,
    with_regions: bool,
) -> EvalResult<()> {
    let Some(servers) = &status.servers else {
        session.print_line(format!("active master:  {SERVER}"))?;
        session.print_line("0 backup masters")?;
        session.print_line("1 live servers")?;
        session.print_line(format!("    {SERVER}"))?;
        let load = server_text(&status.regions.iter().collect::<Vec<_>>(), status.regions.len());
        session.print_line(format!("        {load}{}", store_text(status)))?;
        if with_regions {
            status.regions.iter().try_for_each(|load| region(session, load))?;
        }
        return session.print_line("0 dead servers");
    };
    let long = |name: &ServerName| format!("{} {}", name.address(), name.start_code);
    let master = servers.master.as_ref().map_or_else(|| "none".to_owned(), long);
    session.print_line(format!("active master:  {master}"))?;
    session.print_line(format!("{} backup masters", servers.backup_masters.len()))?;
    for backup in &servers.backup_masters {
        session.print_line(format!("    {}", long(backup)))?;
    }
    session.print_line(format!("{} live servers", servers.live.len()))?;
    for server in &servers.live {
        let is_here = |load: &&RegionLoad| load.server.as_ref() == Some(&server.name);
        let loads: Vec<&RegionLoad> = status.regions.iter().filter(is_here).collect();
        session.print_line(format!("    {}", long(&server.name)))?;
        session.print_line(format!("        {}", server_text(&loads, server.regions)))?;
        if with_regions {
            loads.into_iter().try_for_each(|load| region(session, load))?;
        }
    }
    session.print_line(format!("{} dead servers", servers.dead.len()))?;
    servers.dead.iter().try_for_each(|dead| session.print_line(format!("    {dead}")))
}

fn region(session: &mut Session<'_>, load: &RegionLoad) -> EvalResult<()> {
    session.print_line(format!("        \"{}\"", load.region.display_name()))?;
    session.print_line(format!("            {}", region_text(load)))
}

/// Returns the sums of a server's regions. `regions` counts those of system tables too.
fn server_text(loads: &[&RegionLoad], regions: usize) -> String {
    let sum = |figure: fn(&RegionLoad) -> u64| loads.iter().map(|load| figure(load)).sum::<u64>();
    format!(
        "numberOfOnlineRegions={regions}, numberOfStorefiles={}, storefileSizeMB={}, \
         memstoreSizeMB={}, readRequestsCount={}, writeRequestsCount={}",
        sum(|region| region.store_files),
        megabytes(sum(|region| region.store_file_bytes)),
        megabytes(sum(|region| region.memstore_bytes)),
        sum(|region| region.read_requests),
        sum(|region| region.write_requests),
    )
}

/// Returns what only an embedded store tells of its caches and its log.
fn store_text(status: &ClusterStatus) -> String {
    let looked_up = status.block_cache_hits + status.block_cache_misses;
    format!(
        ", blockCacheSizeMB={}, blockCacheHits={}, blockCacheRequests={looked_up}, walSizeMB={}, \
         flushedSizeMB={}, compactedSizeMB={}",
        megabytes(status.block_cache_bytes),
        status.block_cache_hits,
        megabytes(status.wal_bytes),
        megabytes(status.flushed_bytes),
        megabytes(status.compacted_bytes),
    )
}

fn region_text(load: &RegionLoad) -> String {
    let locality = locality(Some(load));
    if load.server.is_some() {
        return format!(
            "numberOfStorefiles={}, storefileSizeMB={}, memstoreSizeMB={}, readRequestsCount={}, \
             writeRequestsCount={}, dataLocality={locality}",
            load.store_files,
            megabytes(load.store_file_bytes),
            megabytes(load.memstore_bytes),
            load.read_requests,
            load.write_requests,
        );
    }
    format!(
        "numberOfStorefiles={}, storefileSizeMB={}, storefileCells={}, memstoreSizeMB={}, \
         readRequestsCount={}, writeRequestsCount={}, rowsExamined={}, rowsReturned={}, \
         flushes={}, compactions={}, dataLocality={locality}",
        load.store_files,
        megabytes(load.store_file_bytes),
        load.store_file_cells,
        megabytes(load.memstore_bytes),
        load.read_requests,
        load.write_requests,
        load.rows_examined,
        load.rows_returned,
        load.flushes,
        load.compactions,
    )
}
