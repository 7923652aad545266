//! Tables as text, for programs without a script and for `halite ui`; a server has a page of its
//! own under this path.

use std::fmt::Write as _;

use axum::response::Response;
use halite_types::block_on;

use crate::call::{Call, Document};
use crate::gate::Weight;
use crate::problem::Answered;

/// Answers with all tables and the totals of their regions.
pub(crate) async fn status(call: Call) -> Response {
    call.document(Weight::Light, |call, _| {
        Ok(Document {
            content_type: "text/plain; charset=utf-8",
            file_name: None,
            bytes: text(call)?.into_bytes(),
        })
    })
    .await
}

fn text(call: &Call) -> Answered<String> {
    let status = call.site.status()?;
    let tables = block_on(call.site.admin().list_tables())?;
    let names: Vec<String> = tables.iter().map(|table| table.name().to_string()).collect();
    let width = names.iter().map(|name| name.chars().count()).chain([5]).max().unwrap_or(5) + 2;
    let mut out = format!(
        "{:<width$}{:>8}{:>7}{:>16}{:>16}{:>12}{:>12}\n",
        "table", "regions", "files", "file bytes", "memstore bytes", "reads", "writes"
    );
    for (table, name) in tables.iter().zip(names) {
        let (loads, _) = status.of_table(table.name());
        let mut sums = [0_u64; 5];
        for load in loads {
            let part = [
                load.store_files,
                load.store_file_bytes,
                load.memstore_data_bytes,
                load.read_requests,
                load.write_requests,
            ];
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        let [files, bytes, memstore, reads, writes] = sums;
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{name:<width$}{:>8}{files:>7}{bytes:>16}{memstore:>16}{reads:>12}{writes:>12}",
            loads.len()
        );
    }
    Ok(out)
}
