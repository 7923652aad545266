//! K24: a job with one task for each region.

use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::declared_keys::encode_keys;
use crate::parallel::each_region;
use crate::samples::Zipf;
use crate::{LabTable, Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page =
    Page { id: "K24", title: "One task for each region", rules: &[], see: &["K23", "K21"], run };

const ROWS: usize = 8_000;
/// Maximum time that a task waits for the others.
const TASK_TIMEOUT: Duration = Duration::from_mins(1);

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A job that reads a whole table is divided at region boundaries: one task for each, as \
         TableInputFormat does for MapReduce and Spark. Sixteen regions are sixteen tasks at once; \
         one region is one task, however many machines there are. The job ends with its longest \
         task.",
    );
    lab.section(Section::Declaration);
    let text = "CREATE TABLE visits (\n  page STRING FAMILY v QUALIFIER p,\n  ROW KEY (SALT(16 BY \
                visitor), visitor STRING)\n) SPLIT BY SALT";
    let (even, key) = lab.declare(text)?;
    lab.paragraph(
        "And for comparison the same rows without salts, on 16 regions by the first letter of the \
         visitor's country:",
    );
    let uneven = lab.create(
        "by_country",
        &["v"],
        &["b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"],
    )?;

    lab.section(Section::Demonstration);
    let countries = Zipf::new(16, 1.2);
    let visitors: Vec<String> = (0..ROWS)
        .map(|visitor| {
            format!(
                "{}-{visitor:05}",
                char::from(b'a' + u8::try_from(countries.sample(lab.rng())).unwrap_or(0))
            )
        })
        .collect();
    let keys = encode_keys(&key, visitors.iter().map(|visitor| [visitor.as_str().into()]))?;
    lab.load(&even, "v:p", keys.into_iter().map(|key| (key, "/")))?;
    lab.load(&uneven, "v:p", visitors.iter().map(|visitor| (visitor.clone(), "/")))?;
    let (of_even, of_uneven) = (tasks(lab, &even)?, tasks(lab, &uneven)?);
    let mean = ROWS / 16;
    let line = |name: &str, tasks: &[usize]| {
        let longest = tasks.iter().copied().max().unwrap_or(0);
        [
            name.to_owned(),
            tasks.len().to_string(),
            mean.to_string(),
            longest.to_string(),
            format!("{} %", longest * 100 / ROWS),
        ]
    };
    lab.data_table(
        &["", ">tasks", ">rows in the mean", ">read by the longest", ">of all rows"],
        [line("by salt", &of_even), line("by country", &of_uneven)],
    );
    let longest = |tasks: &[usize]| tasks.iter().copied().max().unwrap_or(0);
    lab.assert_claim(
        of_even.len() == 16 && of_uneven.len() == 16,
        "Both jobs have 16 tasks. Each waits with its rows until all others have theirs, so all 16 \
         were at work at one time; together they read every row once, in order.",
    )?;
    lab.assert_claim(
        longest(&of_even) * 12 < ROWS,
        "With even regions the longest task reads less than a twelfth of the table.",
    )?;
    lab.assert_claim(
        longest(&of_uneven) * 4 > ROWS && of_uneven[0] == longest(&of_uneven),
        "With uneven ones it reads more than a quarter: fifteen wait for the one of country a, and \
         no number of machines makes the job shorter than that.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "The split keys make the difference, not the salts: rows that are evenly split without \
         them give tasks that are as even. And tasks that run on one server share its disk; they \
         are faster together only as far as that goes.",
    );
    Ok(())
}

/// Reads the rows of each region concurrently, and verifies that they are the rows of the table,
/// each once and in order. Each task works on its rows for a while. The durations of the job with
/// one task and with one task per region are measured.
fn tasks(lab: &mut PageWriter, table: &LabTable) -> anyhow::Result<Vec<usize>> {
    let began = Instant::now();
    let whole = lab.rows(table, &ScanSpec::all())?;
    work(whole.len());
    let alone = began.elapsed();
    let together = TaskBarrier::new(table.inner().regions()?.len());
    let began = Instant::now();
    let parts = each_region(table, |_, rows| {
        together.wait()?;
        work(rows.len());
        Ok(rows.iter().map(|row| Bytes::copy_from_slice(row.key())).collect::<Vec<_>>())
    })?;
    lab.measurement(format!(
        "{}: the job with one task {alone:.0?}, with one for each region at the same time {:.0?}",
        table.name(),
        began.elapsed()
    ));
    let joined: Vec<Bytes> = parts.iter().flatten().cloned().collect();
    anyhow::ensure!(
        joined == whole.iter().map(|row| Bytes::copy_from_slice(row.key())).collect::<Vec<_>>(),
        "regions together are the table"
    );
    Ok(parts.iter().map(Vec::len).collect())
}

/// Barrier at which tasks wait until all have arrived. If one has failed, the others time out.
struct TaskBarrier {
    missing: Mutex<usize>,
    arrived: Condvar,
}

impl TaskBarrier {
    fn new(tasks: usize) -> Self {
        Self { missing: Mutex::new(tasks), arrived: Condvar::new() }
    }

    fn wait(&self) -> anyhow::Result<()> {
        let Ok(mut missing) = self.missing.lock() else { anyhow::bail!("another task panicked") };
        *missing = missing.saturating_sub(1);
        self.arrived.notify_all();
        let waited = self.arrived.wait_timeout_while(missing, TASK_TIMEOUT, |missing| *missing > 0);
        let still = waited.map_or(1, |(missing, _)| *missing);
        anyhow::ensure!(still == 0, "not all tasks were at work at one time: {still} did not come");
        Ok(())
    }
}

/// Simulates the work of a task: waits 20 microseconds per row.
fn work(rows: usize) {
    std::thread::sleep(Duration::from_micros(20 * rows as u64));
}
