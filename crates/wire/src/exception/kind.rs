//! The table: our name of an exception, HBase's class, whether it is final, and what a client does about it.

/// What a client should do about an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Forget where the region was, look it up again and retry there. If the exception names the new place, go there.
    Relocate,
    /// Wait a little and retry at the same place.
    Wait,
    /// Wait longer (`hbase.client.pause.server.overloaded`) and retry at the same place: the server has too much to do.
    WaitOverloaded,
    /// Wait as long as the message says and retry at the same place.
    WaitAsTold,
    /// Retry at once at the same place.
    RetryNow,
    /// Drop the connection and everything known of this server, then relocate and retry.
    DropServer,
    /// Open the scanner again behind the last row that came and go on.
    ReopenScanner,
    /// Tell the caller: the same call would fail again.
    GiveUp,
}

/// Whether the class extends `DoNotRetryIOException`, as one word for the table.
mod retry {
    pub(super) const AGAIN: bool = false;
    pub(super) const NEVER: bool = true;
}

macro_rules! exceptions {
    ($($(#[$doc:meta])* $kind:ident $class:literal $retry:ident $action:ident;)*) => {
        /// The exceptions that clients and servers of HBase tell apart. The names are those of the classes without
        /// package and `Exception`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ExceptionKind {
            $(#[doc = concat!("`", $class, "`")] $(#[$doc])* $kind,)*
        }

        impl ExceptionKind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// The full name of the Java class.
            pub fn class(self) -> &'static str {
                match self { $(Self::$kind => $class,)* }
            }

            /// Whether the class extends `DoNotRetryIOException`: the same call will fail again. Scans treat three of
            /// these in their own way, see [`Action::ReopenScanner`].
            pub fn is_do_not_retry(self) -> bool {
                match self { $(Self::$kind => retry::$retry,)* }
            }

            /// What a client should do.
            pub fn action(self) -> Action {
                match self { $(Self::$kind => Action::$action,)* }
            }

            /// The kind of a full class name; `None` for a class that nobody treats in its own way.
            pub fn from_class(class: &str) -> Option<Self> {
                match class {
                    $($class => Some(Self::$kind),)*
                    // What region servers throw; it extends the one in the table, which clients can load.
                    "org.apache.hadoop.hbase.regionserver.RowTooBigException" => Some(Self::RowTooBig),
                    _ => None,
                }
            }
        }
    };
}

exceptions! {
    // Where a region is.
    NotServingRegion "org.apache.hadoop.hbase.NotServingRegionException" AGAIN Relocate;
    RegionMoved "org.apache.hadoop.hbase.exceptions.RegionMovedException" AGAIN Relocate;
    WrongRegion "org.apache.hadoop.hbase.regionserver.WrongRegionException" AGAIN Relocate;
    RegionOpening "org.apache.hadoop.hbase.exceptions.RegionOpeningException" AGAIN Wait;

    // Too much to do.
    RegionTooBusy "org.apache.hadoop.hbase.RegionTooBusyException" AGAIN Wait;
    CallQueueTooBig "org.apache.hadoop.hbase.CallQueueTooBigException" AGAIN WaitOverloaded;
    CallDropped "org.apache.hadoop.hbase.CallDroppedException" AGAIN WaitOverloaded;
    RetryImmediately "org.apache.hadoop.hbase.RetryImmediatelyException" AGAIN RetryNow;
    MultiActionResultTooLarge "org.apache.hadoop.hbase.MultiActionResultTooLarge" AGAIN RetryNow;
    RpcThrottling "org.apache.hadoop.hbase.quotas.RpcThrottlingException" AGAIN WaitAsTold;
    SpaceLimiting "org.apache.hadoop.hbase.quotas.SpaceLimitingException" NEVER GiveUp;
    QuotaExceeded "org.apache.hadoop.hbase.quotas.QuotaExceededException" NEVER GiveUp;
    Throttling "org.apache.hadoop.hbase.quotas.ThrottlingException" NEVER GiveUp;

    // A server that starts or stops.
    ServerNotRunningYet "org.apache.hadoop.hbase.ipc.ServerNotRunningYetException" AGAIN Wait;
    PleaseHold "org.apache.hadoop.hbase.PleaseHoldException" AGAIN Wait;
    RegionServerStopped "org.apache.hadoop.hbase.regionserver.RegionServerStoppedException" AGAIN DropServer;
    RegionServerAborted "org.apache.hadoop.hbase.regionserver.RegionServerAbortedException" AGAIN DropServer;
    /// Final for that master; another one may have taken over.
    MasterStopped "org.apache.hadoop.hbase.exceptions.MasterStoppedException" NEVER DropServer;
    MasterNotRunning "org.apache.hadoop.hbase.MasterNotRunningException" AGAIN DropServer;
    ZooKeeperConnection "org.apache.hadoop.hbase.ZooKeeperConnectionException" AGAIN Wait;

    // Scanners.
    UnknownScanner "org.apache.hadoop.hbase.UnknownScannerException" NEVER ReopenScanner;
    ScannerReset "org.apache.hadoop.hbase.exceptions.ScannerResetException" NEVER ReopenScanner;
    OutOfOrderScannerNext "org.apache.hadoop.hbase.exceptions.OutOfOrderScannerNextException" NEVER ReopenScanner;
    Lease "org.apache.hadoop.hbase.regionserver.LeaseException" NEVER GiveUp;

    // Requests that are wrong.
    DoNotRetry "org.apache.hadoop.hbase.DoNotRetryIOException" NEVER GiveUp;
    NoSuchColumnFamily "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException" NEVER GiveUp;
    FailedSanityCheck "org.apache.hadoop.hbase.exceptions.FailedSanityCheckException" NEVER GiveUp;
    WrongRow "org.apache.hadoop.hbase.client.WrongRowIOException" AGAIN GiveUp;
    RowTooBig "org.apache.hadoop.hbase.client.RowTooBigException" NEVER GiveUp;
    RequestTooBig "org.apache.hadoop.hbase.exceptions.RequestTooBigException" NEVER GiveUp;
    IncompatibleFilter "org.apache.hadoop.hbase.filter.IncompatibleFilterException" AGAIN GiveUp;
    /// `asynchbase` asks for it before it scans meta, and it says that an endpoint is not there.
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
    /// A class that only servers have; `do_not_retry` makes it final for clients that cannot load it.
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

    // A server's own troubles.
    /// A class that only servers have; `do_not_retry` makes it final for clients that cannot load it.
    CorruptHFile "org.apache.hadoop.hbase.io.hfile.CorruptHFileException" NEVER GiveUp;
    /// Clients try again for minutes, so a server says it only of what may pass.
    Io "java.io.IOException" AGAIN Relocate;
}
