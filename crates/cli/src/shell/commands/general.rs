//! `status`, `version`, `whoami` and `table_help`.

use halite_types::{ClusterStatus, RegionLoad};

use super::regions::{SERVER, megabytes};
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
        "summary" => {
            let load = format!("{}.0000 average load", status.regions.len());
            session.print_line(format!(
                "1 active master, 0 backup masters, 1 servers, 0 dead, {load}"
            ))?;
        }
        "simple" => {
            servers(session, &status, false)?;
            session.print_line(format!("Aggregate load: 0, regions: {}", status.regions.len()))?;
        }
        "detailed" => {
            session.print_line(concat!("version halite ", env!("CARGO_PKG_VERSION")))?;
            session.print_line("0 regionsInTransition")?;
            servers(session, &status, true)?;
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

/// Prints HBase's output for a server without replication, which Halite does not support.
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

fn servers(
    session: &mut Session<'_>,
    status: &ClusterStatus,
    with_regions: bool,
) -> EvalResult<()> {
    session.print_line(format!("active master:  {SERVER}"))?;
    session.print_line("0 backup masters")?;
    session.print_line("1 live servers")?;
    session.print_line(format!("    {SERVER}"))?;
    session.print_line(format!("        {}", server_text(status)))?;
    if with_regions {
        for region in &status.regions {
            session.print_line(format!("        \"{}\"", region.region.display_name()))?;
            session.print_line(format!("            {}", region_text(region)))?;
        }
    }
    session.print_line("0 dead servers")
}

fn sum(status: &ClusterStatus, figure: impl Fn(&RegionLoad) -> u64) -> u64 {
    status.regions.iter().map(figure).sum()
}

fn server_text(status: &ClusterStatus) -> String {
    let looked_up = status.block_cache_hits + status.block_cache_misses;
    format!(
        "numberOfOnlineRegions={}, numberOfStorefiles={}, storefileSizeMB={}, memstoreSizeMB={}, \
         readRequestsCount={}, writeRequestsCount={}, blockCacheSizeMB={}, blockCacheHits={}, \
         blockCacheRequests={looked_up}, walSizeMB={}, flushedSizeMB={}, compactedSizeMB={}",
        status.regions.len(),
        sum(status, |region| region.store_files),
        megabytes(sum(status, |region| region.store_file_bytes)),
        megabytes(sum(status, |region| region.memstore_bytes)),
        sum(status, |region| region.read_requests),
        sum(status, |region| region.write_requests),
        megabytes(status.block_cache_bytes),
        status.block_cache_hits,
        megabytes(status.wal_bytes),
        megabytes(status.flushed_bytes),
        megabytes(status.compacted_bytes),
    )
}

fn region_text(load: &RegionLoad) -> String {
    format!(
        "numberOfStorefiles={}, storefileSizeMB={}, storefileCells={}, memstoreSizeMB={}, \
         readRequestsCount={}, writeRequestsCount={}, rowsExamined={}, rowsReturned={}, \
         flushes={}, compactions={}, dataLocality=1.0",
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
