//! Processor time of a process on this machine, from `/proc/PID/stat` (proc(5)).

use std::time::Duration;

/// Length of a clock tick in `/proc`, the same on every architecture of Linux.
const TICK: Duration = Duration::from_millis(10);

/// Returns the processor time of a process so far, of all its threads; of this one if `pid` is
/// `None`. `None` if there is no such process, or no `/proc`.
pub(crate) fn processor_time(pid: Option<u32>) -> Option<Duration> {
    let name = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
    ticks(&std::fs::read_to_string(format!("/proc/{name}/stat")).ok()?).map(|ticks| TICK * ticks)
}

/// Returns the user and system ticks in a line of `/proc/PID/stat`.
fn ticks(line: &str) -> Option<u32> {
    // The second field, the name of the program in parentheses, may contain anything.
    let mut fields = line.rsplit_once(") ")?.1.split(' ').skip(11);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    ticks()?.checked_add(ticks()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_follow_a_name_with_parentheses() {
        let line = "7 (a) b (c) S 1 7 7 0 -1 4194560 900 0 3 0 120 34 5 6 20 0 9 0 300 1 2";
        assert_eq!(ticks(line), Some(154));
        assert_eq!(ticks("7 (a) S 1"), None);
    }

    #[test]
    fn time_of_this_process_grows_with_its_work() {
        let before = processor_time(None).expect("Linux has /proc");
        let mut sum = 0_u64;
        while processor_time(None).is_some_and(|now| now < before + 2 * TICK) {
            sum = (0..100_000).fold(sum, |sum, number| std::hint::black_box(sum ^ number));
        }
        assert!(processor_time(Some(std::process::id())) >= Some(before + 2 * TICK));
        assert_eq!(processor_time(Some(u32::MAX)), None);
    }
}
