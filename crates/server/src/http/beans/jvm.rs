//! Beans of the Java platform, filled with values of this process: memory, processor, files,
//! threads.

use super::super::json::Value;
use super::super::snapshot::MetricsSnapshot;
use super::bean::Bean;

pub(super) fn all(snapshot: &MetricsSnapshot<'_>) -> Vec<Bean> {
    vec![
        memory(snapshot),
        runtime(snapshot),
        operating_system(snapshot),
        threading(snapshot),
        jvm_metrics(snapshot),
    ]
}

fn bean(kind: &str) -> Bean {
    let name = format!("java.lang:type={kind}");
    Bean::new(&name).with("ObjectName", name)
}

/// Reports all memory of the process as the heap; there is no other, and no limit but the
/// machine's.
fn memory(snapshot: &MetricsSnapshot<'_>) -> Bean {
    let group = |used: u64, committed: u64, max: u64| {
        let pairs = [("committed", committed), ("init", 0), ("max", max), ("used", used)];
        Value::Group(pairs.map(|(name, bytes)| (name.to_owned(), bytes.into())).into())
    };
    let resident = snapshot.process.resident_bytes;
    let usage = resident.map(|resident| {
        group(resident, resident, snapshot.machine.memory_bytes.unwrap_or(resident))
    });
    bean("Memory").with_known("HeapMemoryUsage", usage)
}

fn runtime(snapshot: &MetricsSnapshot<'_>) -> Bean {
    let pid = u64::from(std::process::id());
    bean("Runtime")
        .with("Name", format!("{pid}@{}", snapshot.machine.host))
        .with("Pid", pid)
        .with("VmName", "Halite")
        .with("VmVersion", env!("CARGO_PKG_VERSION"))
        .with("StartTime", snapshot.context.start_code)
        .with("Uptime", u64::try_from(snapshot.uptime().as_millis()).unwrap_or(u64::MAX))
}

fn operating_system(snapshot: &MetricsSnapshot<'_>) -> Bean {
    let (process, machine) = (&snapshot.process, &snapshot.machine);
    bean("OperatingSystem")
        .with_known("OpenFileDescriptorCount", process.open_files)
        .with_known("MaxFileDescriptorCount", process.max_open_files)
        .with_known("CommittedVirtualMemorySize", process.virtual_bytes)
        .with_known("TotalSwapSpaceSize", machine.swap_bytes)
        .with_known("FreeSwapSpaceSize", machine.swap_free_bytes)
        .with_known(
            "ProcessCpuTime",
            process.cpu.map(|cpu| u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX)),
        )
        .with_known("FreePhysicalMemorySize", machine.memory_free_bytes)
        .with_known("TotalPhysicalMemorySize", machine.memory_bytes)
        .with("Name", machine.system.as_str())
        .with("Version", machine.release.as_str())
        .with("Arch", machine.architecture.as_str())
        .with("AvailableProcessors", machine.cores)
        .with_known("SystemLoadAverage", machine.load)
}

fn threading(snapshot: &MetricsSnapshot<'_>) -> Bean {
    bean("Threading").with_known("ThreadCount", snapshot.process.threads)
}

/// The process has no garbage collector, so the collection counters are always 0.
fn jvm_metrics(snapshot: &MetricsSnapshot<'_>) -> Bean {
    #[expect(clippy::cast_precision_loss, reason = "mebibytes of memory")]
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    Bean::hbase("JvmMetrics", "jvm", snapshot)
        .with_known("MemHeapUsedM", snapshot.process.resident_bytes.map(mebibytes))
        .with_known("MemHeapCommittedM", snapshot.process.resident_bytes.map(mebibytes))
        .with_known("MemMaxM", snapshot.machine.memory_bytes.map(mebibytes))
        .with("GcCount", 0_u64)
        .with("GcTimeMillis", 0_u64)
}
