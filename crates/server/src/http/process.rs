//! Values of this process and its machine, read from `/proc`. A value that the system does not
//! provide is `None`.

use std::fs;
use std::time::Duration;

/// Values of the process.
#[derive(Debug, Default)]
pub(super) struct Process {
    pub(super) resident_bytes: Option<u64>,
    /// Resident memory that is not that of a file: memstores, and all that the allocator holds.
    pub(super) anonymous_bytes: Option<u64>,
    pub(super) virtual_bytes: Option<u64>,
    /// User and system CPU time.
    pub(super) cpu: Option<Duration>,
    pub(super) threads: Option<u64>,
    pub(super) open_files: Option<u64>,
    pub(super) max_open_files: Option<u64>,
}

/// Values of the machine.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) host: String,
    pub(super) system: String,
    pub(super) release: String,
    /// Java's name of the architecture: `amd64` for `x86_64`.
    pub(super) architecture: String,
    pub(super) cores: usize,
    pub(super) load: Option<f64>,
    pub(super) memory_bytes: Option<u64>,
    pub(super) memory_free_bytes: Option<u64>,
    pub(super) swap_bytes: Option<u64>,
    pub(super) swap_free_bytes: Option<u64>,
}

impl Process {
    pub(super) fn read() -> Self {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        Self {
            // The directory that is read for counting is itself an open file.
            open_files: fs::read_dir("/proc/self/fd")
                .ok()
                .map(|files| files.count().saturating_sub(1) as u64),
            max_open_files: limit.current,
            anonymous_bytes: anonymous_bytes(
                &fs::read_to_string("/proc/self/status").unwrap_or_default(),
            ),
            ..Self::from_stat(
                &stat,
                rustix::param::clock_ticks_per_second(),
                rustix::param::page_size() as u64,
            )
        }
    }

    /// Parses `/proc/self/stat`. The name in parentheses may contain any text, so fields are
    /// counted after it.
    fn from_stat(stat: &str, ticks_per_second: u64, page_bytes: u64) -> Self {
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace().collect();
        let field = |number: usize| fields.get(number.checked_sub(3)?)?.parse::<u64>().ok();
        let ticks = field(14).zip(field(15)).map(|(user, system)| user + system);
        Self {
            cpu: ticks.map(|ticks| {
                Duration::from_millis(ticks.saturating_mul(1000) / ticks_per_second.max(1))
            }),
            threads: field(20),
            virtual_bytes: field(23),
            resident_bytes: field(24).map(|pages| pages.saturating_mul(page_bytes)),
            ..Self::default()
        }
    }
}

/// Parses `/proc/self/status`.
fn anonymous_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

impl Machine {
    pub(super) fn read() -> Self {
        let name = rustix::system::uname();
        let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let architecture = text(name.machine());
        Self {
            host: text(name.nodename()),
            system: text(name.sysname()),
            release: text(name.release()),
            architecture: if architecture == "x86_64" { "amd64".to_owned() } else { architecture },
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load: load.split_whitespace().next().and_then(|load| load.parse().ok()),
            memory_bytes: kibibytes(&memory, "MemTotal:"),
            memory_free_bytes: kibibytes(&memory, "MemFree:"),
            swap_bytes: kibibytes(&memory, "SwapTotal:"),
            swap_free_bytes: kibibytes(&memory, "SwapFree:"),
        }
    }
}

fn kibibytes(memory: &str, name: &str) -> Option<u64> {
    let line = memory.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_parsed_after_name_with_brackets() {
        let stat = "42 (a ) b) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 7 0 1000 8192000 \
                    300 18446744073709551615 1 1";
        let process = Process::from_stat(stat, 100, 4096);
        assert_eq!((process.cpu, process.threads), (Some(Duration::from_secs(3)), Some(7)));
        assert_eq!(
            (process.virtual_bytes, process.resident_bytes),
            (Some(8_192_000), Some(300 * 4096))
        );
        assert_eq!(Process::from_stat("", 100, 4096).cpu, None);
    }

    #[test]
    fn memory_is_reported_in_bytes() {
        let memory = "MemTotal:       24731708 kB\nMemFree:         100 kB\n";
        assert_eq!(
            (
                kibibytes(memory, "MemTotal:"),
                kibibytes(memory, "MemFree:"),
                kibibytes(memory, "SwapFree:")
            ),
            (Some(25_325_268_992), Some(102_400), None)
        );
    }
}
