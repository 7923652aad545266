//! The names of the workloads and what each needs.

use clap::ValueEnum;

/// A workload. Names are HBase's and YCSB's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// Put every row, in order
    #[value(name = "sequentialWrite")]
    SequentialWrite,
    /// Put rows chosen at random
    #[value(name = "randomWrite")]
    RandomWrite,
    /// Get every row, in order
    #[value(name = "sequentialRead")]
    SequentialRead,
    /// Get rows chosen at random
    #[value(name = "randomRead")]
    RandomRead,
    /// Scan the table, one row at a time
    #[value(name = "scan")]
    Scan,
    /// Scan 10 rows from a row chosen at random
    #[value(name = "scanRange10")]
    ScanRange10,
    /// Scan 100 rows from a row chosen at random
    #[value(name = "scanRange100")]
    ScanRange100,
    /// Scan 1000 rows from a row chosen at random
    #[value(name = "scanRange1000")]
    ScanRange1000,
    /// Add 1 to a counter in every row
    #[value(name = "increment")]
    Increment,
    /// Append to a value in every row
    #[value(name = "append")]
    Append,
    /// Put a known value in every row, then put again if it is there
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
    /// YCSB F: half reads, half reads with an update of what was read
    #[value(name = "ycsb-f")]
    YcsbF,
}

impl Workload {
    /// Those of PerformanceEvaluation, in the order in which each finds what it needs.
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

    /// As written on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether it is one of YCSB's.
    pub(crate) fn is_ycsb(self) -> bool {
        !Self::EVALUATION.contains(&self)
    }

    /// Whether it reads rows that have to be there before.
    pub(crate) fn needs_rows(self) -> bool {
        !matches!(self, Self::SequentialWrite | Self::RandomWrite)
    }

    /// Rows of one scan, for those that scan a range.
    pub(crate) fn scan_rows(self) -> Option<u64> {
        match self {
            Self::ScanRange10 => Some(10),
            Self::ScanRange100 => Some(100),
            Self::ScanRange1000 => Some(1000),
            _ => None,
        }
    }

    /// Operations of the whole workload. As in PerformanceEvaluation a workload touches each row once, so ranges of a
    /// hundred rows are a hundredth of the operations.
    pub(crate) fn operations(self, rows: u64, ycsb_operations: u64) -> u64 {
        match self.scan_rows() {
            _ if self.is_ycsb() => ycsb_operations,
            Some(scanned) => (rows / scanned).max(1),
            None => rows,
        }
    }
}
