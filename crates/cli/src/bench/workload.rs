//! Benchmark workloads and their requirements.

use clap::ValueEnum;

/// Benchmark workload, with the name that HBase or YCSB gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// Put every row, in order
    #[value(name = "sequentialWrite")]
    SequentialWrite,
    /// Put random rows
    #[value(name = "randomWrite")]
    RandomWrite,
    /// Get every row, in order
    #[value(name = "sequentialRead")]
    SequentialRead,
    /// Get random rows
    #[value(name = "randomRead")]
    RandomRead,
    /// Scan the table, one row at a time
    #[value(name = "scan")]
    Scan,
    /// Scan 10 rows from a random row
    #[value(name = "scanRange10")]
    ScanRange10,
    /// Scan 100 rows from a random row
    #[value(name = "scanRange100")]
    ScanRange100,
    /// Scan 1000 rows from a random row
    #[value(name = "scanRange1000")]
    ScanRange1000,
    /// Add 1 to a counter in every row
    #[value(name = "increment")]
    Increment,
    /// Append to a value in every row
    #[value(name = "append")]
    Append,
    /// Put a known value in every row, then put again if the value is present
    #[value(name = "checkAndPut")]
    CheckAndPut,
    /// YCSB A: half reads, half updates
    #[value(name = "ycsb-a")]
    YcsbA,
    /// YCSB B: 95% reads, 5% updates
    #[value(name = "ycsb-b")]
    YcsbB,
    /// YCSB C: reads only
    #[value(name = "ycsb-c")]
    YcsbC,
    /// YCSB D: 95% reads of the newest rows, 5% inserts
    #[value(name = "ycsb-d")]
    YcsbD,
    /// YCSB E: 95% short scans, 5% inserts
    #[value(name = "ycsb-e")]
    YcsbE,
    /// YCSB F: half reads, half read-modify-writes
    #[value(name = "ycsb-f")]
    YcsbF,
}

impl Workload {
    /// Workloads of PerformanceEvaluation, each after those whose rows it requires.
    pub(crate) const EVALUATION: [Self; 11] = [
        Self::SequentialWrite,
        Self::RandomWrite,
        Self::SequentialRead,
        Self::RandomRead,
        Self::Scan,
        Self::ScanRange10,
        Self::ScanRange100,
        Self::ScanRange1000,
        Self::Increment,
        Self::Append,
        Self::CheckAndPut,
    ];

    /// Returns the name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns `true` for a YCSB workload.
    pub(crate) fn is_ycsb(self) -> bool {
        !Self::EVALUATION.contains(&self)
    }

    /// Returns `true` if the workload reads rows that must exist beforehand.
    pub(crate) fn needs_rows(self) -> bool {
        !matches!(self, Self::SequentialWrite | Self::RandomWrite)
    }

    /// Returns the rows per scan, for workloads that scan a range.
    pub(crate) fn scan_rows(self) -> Option<u64> {
        match self {
            Self::ScanRange10 => Some(10),
            Self::ScanRange100 => Some(100),
            Self::ScanRange1000 => Some(1000),
            _ => None,
        }
    }

    /// Returns the number of operations of the whole workload. As in PerformanceEvaluation, a
    /// workload reads or writes each row once, so scans of 100 rows take a hundredth of the
    /// operations.
    pub(crate) fn operations(self, rows: u64, ycsb_operations: u64) -> u64 {
        match self.scan_rows() {
            _ if self.is_ycsb() => ycsb_operations,
            Some(scanned) => (rows / scanned).max(1),
            None => rows,
        }
    }
}
