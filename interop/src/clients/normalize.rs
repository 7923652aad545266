//! Masks the parts of the shell's output that differ between runs.

use std::sync::LazyLock;

use regex::Regex;

/// Masked patterns and their replacements.
static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"Took [0-9.]+ seconds", "Took (time)"),
        (r"timestamp=20[0-9]{2}-[0-9T:.-]+", "timestamp=(now)"),
        (r"20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:]+ [+-][0-9]{4}", "(now)"),
        (r"[0-9]{13}\.[0-9a-f]{32}\.", "(id)."),
        (r"ENCODED => [0-9a-f]{32}", "ENCODED => (id)"),
        (r"(localhost|127\.0\.0\.1)[:,][0-9]+(,[0-9]{13})?", "(server)"),
        (r":0x[0-9a-f]+>", ":(object)>"),
        (r"MILLIS_BETWEEN_NEXTS [0-9]+", "MILLIS_BETWEEN_NEXTS (time)"),
        // A server counts as remote if its name differs from this machine's own.
        (r"(BYTES_IN_REMOTE_RESULTS|REMOTE_RPC_CALLS) [0-9]+", "$1 (by name)"),
        // System tables count, and each server has different ones.
        (r"[0-9.]+ average load", "(regions) average load"),
        // Programs depend on the class of a server's exception; its text is specific to the server.
        (r"^(ERROR: (?:org\.apache\.hadoop|java)\.[A-Za-z0-9_.$]+)(:.*)?$", "$1"),
    ]
    .into_iter()
    .filter_map(|(pattern, shown)| Some((Regex::new(pattern).ok()?, shown)))
    .collect()
});

/// Returns the output of the shell from its first prompt on, masked, without server stack traces.
pub(crate) fn shell(output: &str) -> String {
    let from = output.find("hbase:001:0>").unwrap_or_default();
    let mut text = String::new();
    for line in output[from..].lines().filter(|line| !is_stack_line(line)) {
        let line = MASKS.iter().fold(line.to_string(), |line, (pattern, shown)| {
            pattern.replace_all(&line, *shown).into_owned()
        });
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn is_stack_line(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("at ") && line.ends_with(')')
        || line.starts_with("Caused by: ")
        || line.starts_with("... ") && line.ends_with(" more")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(MASKS.len(), 11);
    }

    #[test]
    fn only_times_names_and_stacks_are_normalized() {
        let output = "Version 2\nhbase:001:0> get 't', 'r'\n f:q \
                      timestamp=2026-11-21T20:03:37.019, value=v\n f:p \
                      timestamp=1970-01-01T00:00:00.001, value=w \nERROR: \
                      org.apache.hadoop.hbase.X: no family in t,,\
                      1795291412969.b2998f5a9fa013395b4074b1f516f537. there\n\tat a.b(C.java:1)\n\
                      ERROR: Unknown table t!\n localhost:16020 \
                      {NAME => 't,m,1795291412969.d1778055661354a7ef1033cc8c509687.'}\nTook 0.0142 \
                      seconds\n";
        let masked = "hbase:001:0> get 't', 'r'\n f:q timestamp=(now), value=v\n f:p \
                      timestamp=1970-01-01T00:00:00.001, value=w\nERROR: \
                      org.apache.hadoop.hbase.X\nERROR: Unknown table t!\n (server) \
                      {NAME => 't,m,(id).'}\nTook (time)\n";
        assert_eq!(shell(output), masked);
    }
}
