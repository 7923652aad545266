//! Resource usage of another process, from the kernel.

use crate::Result;

/// Returns the CPU time of all threads of a process, in microseconds. The kernel's `schedstat` of
/// each thread is more precise but excludes threads that have ended. A tick is ten milliseconds,
/// and a command takes seconds.
pub(super) fn cpu_us(process: u32) -> Result<f64> {
    let text = read(&format!("/proc/{process}/stat"))?;
    // The second field is the program's name in parentheses, and may contain any characters.
    let fields: Vec<&str> =
        text.rsplit(") ").next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| {
        fields
            .get(index)
            .and_then(|field| field.parse::<f64>().ok())
            .ok_or("no processor time in /proc")
    };
    #[expect(clippy::cast_precision_loss, reason = "a hundred or so")]
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    Ok((ticks(11)? + ticks(12)?) / per_second * 1e6)
}

/// Returns the resident memory of a process, in megabytes.
pub(super) fn resident_mb(process: u32) -> Result<f64> {
    let text = read(&format!("/proc/{process}/status"))?;
    let kilobytes = text.lines().find_map(|line| {
        line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse::<f64>().ok()
    });
    kilobytes
        .map(|kilobytes| kilobytes / 1024.0)
        .ok_or_else(|| "no memory size in /proc".to_string())
}

/// Returns a line about the machine and its load.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let load = read("/proc/loadavg")
        .ok()
        .and_then(|text| text.split_whitespace().next().map(str::to_string))
        .unwrap_or_default();
    format!(
        "{cores} cores, load {load} before the first run; on a busy machine only the processor \
         times are reliable"
    )
}

fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}
