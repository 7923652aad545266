//! Table of exceptions: Halite's name, HBase's class, whether it is final, and the client's action.

/// Client's action on an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RetryAction {
    /// Drop the region's cached location, look it up again and retry there. If the exception
    /// contains the new location, use it.
    Relocate,
    /// Wait briefly and retry at the same location.
    Wait,
    /// Wait longer (`hbase.client.pause.server.overloaded`) and retry at the same location: the
    /// server is overloaded.
    WaitOverloaded,
    /// Wait as long as the message specifies and retry at the same location.
    WaitAsSpecified,
    /// Retry immediately at the same location.
    RetryNow,
    /// Close the connection and drop everything cached about this server, then relocate and retry.
    DropServer,
    /// Reopen the scanner after the last received row and continue.
    ReopenScanner,
    /// Return the error to the caller: the same call would fail again.
    GiveUp,
}

/// One-word names for the table: `true` if the class extends `DoNotRetryIOException`.
mod retry {
    pub(super) const AGAIN: bool = false;
    pub(super) const NEVER: bool = true;
}

macro_rules! exceptions {
    ($($(#[$doc:meta])* $kind:ident $class:literal $retry:ident $action:ident;)*) => {
        /// Exceptions that clients and servers of HBase distinguish. The names are those of the
        /// classes without package and `Exception`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ExceptionKind {
            $(#[doc = concat!("`", $class, "`")] $(#[$doc])* $kind,)*
        }

        impl ExceptionKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// Returns the full name of the Java class.
            pub fn class(self) -> &'static str {
                match self { $(Self::$kind => $class,)* }
            }

            /// Returns `true` if the class extends `DoNotRetryIOException`: the same call will fail
            /// again. Scans handle three of these differently, see [`RetryAction::ReopenScanner`].
            pub fn is_do_not_retry(self) -> bool {
                match self { $(Self::$kind => retry::$retry,)* }
            }

            /// Returns the client's action.
            pub fn action(self) -> RetryAction {
                match self { $(Self::$kind => RetryAction::$action,)* }
            }

            /// Returns the kind of a full class name; `None` for a class without special treatment.
            pub fn from_class(class: &str) -> Option<Self> {
                match class {
                    $($class => Some(Self::$kind),)*
                    // Class that region servers throw; it extends the one in the table, which
                    // clients can load.
                    "org.apache.hadoop.hbase.regionserver.RowTooBigException" => Some(Self::RowTooBig),
                    _ => None,
                }
            }
        }
    };
}

exceptions! {
    // Location of a region.
    NotServingRegion "org.apache.hadoop.hbase.NotServingRegionException" AGAIN Relocate;
    RegionMoved "org.apache.hadoop.hbase.exceptions.RegionMovedException" AGAIN Relocate;
    WrongRegion "org.apache.hadoop.hbase.regionserver.WrongRegionException" AGAIN Relocate;
    RegionOpening "org.apache.hadoop.hbase.exceptions.RegionOpeningException" AGAIN Wait;

    // Overload.
    RegionTooBusy "org.apache.hadoop.hbase.RegionTooBusyException" AGAIN Wait;
    CallQueueTooBig "org.apache.hadoop.hbase.CallQueueTooBigException" AGAIN WaitOverloaded;
    CallDropped "org.apache.hadoop.hbase.CallDroppedException" AGAIN WaitOverloaded;
    RetryImmediately "org.apache.hadoop.hbase.RetryImmediatelyException" AGAIN RetryNow;
    MultiActionResultTooLarge "org.apache.hadoop.hbase.MultiActionResultTooLarge" AGAIN RetryNow;
    RpcThrottling "org.apache.hadoop.hbase.quotas.RpcThrottlingException" AGAIN WaitAsSpecified;
    SpaceLimiting "org.apache.hadoop.hbase.quotas.SpaceLimitingException" NEVER GiveUp;
    QuotaExceeded "org.apache.hadoop.hbase.quotas.QuotaExceededException" NEVER GiveUp;
    Throttling "org.apache.hadoop.hbase.quotas.ThrottlingException" NEVER GiveUp;

    // Server startup and shutdown.
    ServerNotRunningYet "org.apache.hadoop.hbase.ipc.ServerNotRunningYetException" AGAIN Wait;
    PleaseHold "org.apache.hadoop.hbase.PleaseHoldException" AGAIN Wait;
    RegionServerStopped "org.apache.hadoop.hbase.regionserver.RegionServerStoppedException" AGAIN DropServer;
    RegionServerAborted "org.apache.hadoop.hbase.regionserver.RegionServerAbortedException" AGAIN DropServer;
    /// Final for that master; another master may have become active.
    MasterStopped "org.apache.hadoop.hbase.exceptions.MasterStoppedException" NEVER DropServer;
    MasterNotRunning "org.apache.hadoop.hbase.MasterNotRunningException" AGAIN DropServer;
    ZooKeeperConnection "org.apache.hadoop.hbase.ZooKeeperConnectionException" AGAIN Wait;

    // Scanners.
    UnknownScanner "org.apache.hadoop.hbase.UnknownScannerException" NEVER ReopenScanner;
    ScannerReset "org.apache.hadoop.hbase.exceptions.ScannerResetException" NEVER ReopenScanner;
    OutOfOrderScannerNext "org.apache.hadoop.hbase.exceptions.OutOfOrderScannerNextException" NEVER ReopenScanner;
    Lease "org.apache.hadoop.hbase.regionserver.LeaseException" NEVER GiveUp;

    // Invalid requests.
    DoNotRetry "org.apache.hadoop.hbase.DoNotRetryIOException" NEVER GiveUp;
    NoSuchColumnFamily "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException" NEVER GiveUp;
    FailedSanityCheck "org.apache.hadoop.hbase.exceptions.FailedSanityCheckException" NEVER GiveUp;
    WrongRow "org.apache.hadoop.hbase.client.WrongRowIOException" AGAIN GiveUp;
    RowTooBig "org.apache.hadoop.hbase.client.RowTooBigException" NEVER GiveUp;
    RequestTooBig "org.apache.hadoop.hbase.exceptions.RequestTooBigException" NEVER GiveUp;
    IncompatibleFilter "org.apache.hadoop.hbase.filter.IncompatibleFilterException" AGAIN GiveUp;
    /// `asynchbase` relies on it before it scans meta; it also reports a missing endpoint.
    UnknownProtocol "org.apache.hadoop.hbase.exceptions.UnknownProtocolException" NEVER GiveUp;
    InvalidProtocolBuffer "org.apache.hbase.thirdparty.com.google.protobuf.InvalidProtocolBufferException" AGAIN GiveUp;
    AccessDenied "org.apache.hadoop.hbase.security.AccessDeniedException" NEVER GiveUp;

    // Tables and namespaces.
    TableNotFound "org.apache.hadoop.hbase.TableNotFoundException" NEVER GiveUp;
    TableExists "org.apache.hadoop.hbase.TableExistsException" NEVER GiveUp;
    TableNotDisabled "org.apache.hadoop.hbase.TableNotDisabledException" NEVER GiveUp;
    TableNotEnabled "org.apache.hadoop.hbase.TableNotEnabledException" NEVER GiveUp;
    NamespaceNotFound "org.apache.hadoop.hbase.NamespaceNotFoundException" NEVER GiveUp;
    NamespaceExist "org.apache.hadoop.hbase.NamespaceExistException" NEVER GiveUp;
    InvalidFamilyOperation "org.apache.hadoop.hbase.InvalidFamilyOperationException" NEVER GiveUp;
    ConcurrentTableModification "org.apache.hadoop.hbase.ConcurrentTableModificationException" NEVER GiveUp;
    MergeRegion "org.apache.hadoop.hbase.exceptions.MergeRegionException" NEVER GiveUp;
    DoNotRetryRegion "org.apache.hadoop.hbase.client.DoNotRetryRegionException" NEVER GiveUp;
    ReplicationPeerNotFound "org.apache.hadoop.hbase.ReplicationPeerNotFoundException" NEVER GiveUp;
    UnknownRegion "org.apache.hadoop.hbase.UnknownRegionException" NEVER GiveUp;
    /// Server-only class; `do_not_retry` makes it final for clients that cannot load it.
    Constraint "org.apache.hadoop.hbase.constraint.ConstraintException" NEVER GiveUp;

    // Snapshots.
    SnapshotDoesNotExist "org.apache.hadoop.hbase.snapshot.SnapshotDoesNotExistException" NEVER GiveUp;
    SnapshotExists "org.apache.hadoop.hbase.snapshot.SnapshotExistsException" NEVER GiveUp;
    SnapshotCreation "org.apache.hadoop.hbase.snapshot.SnapshotCreationException" NEVER GiveUp;
    RestoreSnapshot "org.apache.hadoop.hbase.snapshot.RestoreSnapshotException" NEVER GiveUp;
    UnknownSnapshot "org.apache.hadoop.hbase.snapshot.UnknownSnapshotException" NEVER GiveUp;
    CorruptedSnapshot "org.apache.hadoop.hbase.snapshot.CorruptedSnapshotException" NEVER GiveUp;
    SnapshotTtlExpired "org.apache.hadoop.hbase.snapshot.SnapshotTTLExpiredException" NEVER GiveUp;

    // Connections.
    FatalConnection "org.apache.hadoop.hbase.ipc.FatalConnectionException" NEVER GiveUp;
    WrongVersion "org.apache.hadoop.hbase.ipc.WrongVersionException" NEVER GiveUp;
    BadAuth "org.apache.hadoop.hbase.ipc.BadAuthException" NEVER GiveUp;
    UnsupportedCellCodec "org.apache.hadoop.hbase.ipc.UnsupportedCellCodecException" NEVER GiveUp;
    UnsupportedCompressionCodec "org.apache.hadoop.hbase.ipc.UnsupportedCompressionCodecException" NEVER GiveUp;
    UnsupportedCrypto "org.apache.hadoop.hbase.ipc.UnsupportedCryptoException" NEVER GiveUp;
    SecurityNotEnabled "org.apache.hadoop.hbase.ipc.SecurityNotEnabledException" AGAIN GiveUp;

    // Internal server failures.
    /// Server-only class; `do_not_retry` makes it final for clients that cannot load it.
    CorruptHFile "org.apache.hadoop.hbase.io.hfile.CorruptHFileException" NEVER GiveUp;
    /// Clients retry for minutes, so a server sends it only for transient failures.
    Io "java.io.IOException" AGAIN Relocate;
}
