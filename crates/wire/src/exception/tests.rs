//! Encoding and decoding of exceptions.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn moved() -> MovedTo {
    MovedTo {
        host: "localhost".to_string(),
        port: 16021,
        start_code: 1_795_225_227_130,
        sequence: 34,
    }
}

#[test]
fn every_exception_class_is_unique_and_found() {
    for kind in ExceptionKind::ALL {
        assert_eq!(ExceptionKind::from_class(kind.class()), Some(*kind));
    }
    let classes: BTreeSet<_> = ExceptionKind::ALL.iter().map(|kind| kind.class()).collect();
    assert_eq!(classes.len(), ExceptionKind::ALL.len());
}

#[test]
fn final_errors_need_new_scanner_or_master_to_continue() {
    for kind in ExceptionKind::ALL
        .iter()
        .filter(|kind| kind.is_do_not_retry() && **kind != ExceptionKind::MasterStopped)
    {
        assert!(
            matches!(kind.action(), RetryAction::GiveUp | RetryAction::ReopenScanner),
            "{kind:?}"
        );
    }
}

#[test]
fn exception_text_starts_with_class_and_message() {
    let exception = Exception::new(ExceptionKind::TableNotFound, "no table t1");
    let response = exception.to_response();
    assert_eq!(response.exception_class_name(), "org.apache.hadoop.hbase.TableNotFoundException");
    assert_eq!(
        response.stack_trace(),
        "org.apache.hadoop.hbase.TableNotFoundException: no table t1"
    );
    assert_eq!(response.do_not_retry, Some(true));
    assert_eq!(Exception::from_response(&response), exception);
    assert_eq!(Exception::from_pair(&exception.to_pair()), exception);
}

#[test]
fn do_not_retry_is_set_in_every_response() {
    let response = Exception::new(ExceptionKind::NotServingRegion, "").to_response();
    assert_eq!((response.do_not_retry, response.server_overloaded), (Some(false), None));
    assert_eq!(
        Exception::new(ExceptionKind::CallQueueTooBig, "").to_response().server_overloaded,
        Some(true)
    );
}

#[test]
fn region_moved_text_is_parsable_by_java() {
    let text = "Region moved to: hostname=localhost port=16021 startCode=1795225227130. As of \
                locationSeqNum=34.";
    assert_eq!(moved().to_string(), text);
    let exception = Exception::region_moved(moved());
    let response = exception.to_response();
    assert_eq!((response.hostname(), response.port()), ("localhost", 16021));
    assert_eq!(Exception::from_response(&response).moved_to(), Some(&moved()));
    assert_eq!(Exception::from_pair(&exception.to_pair()).moved_to(), Some(&moved()));
}

#[test]
fn java_stack_trace_yields_message_and_location() {
    let class = ExceptionKind::RegionMoved.class();
    let trace = format!(
        "{class}: {}\n\tat \
         org.apache.hadoop.hbase.regionserver.HRegionServer.getRegion(HRegionServer.java:1)\n",
        moved()
    );
    let response = pb::ExceptionResponse {
        exception_class_name: Some(class.to_string()),
        stack_trace: Some(trace),
        ..Default::default()
    };
    let exception = Exception::from_response(&response);
    assert_eq!(exception.moved_to(), Some(&moved()));
    assert_eq!(exception.action(), RetryAction::Relocate);
}

#[test]
fn throttling_exception_contains_wait_time() {
    let exception = Exception::throttled(ThrottleType::NumberOfRequests, 1234);
    assert_eq!(exception.message(), "number of requests exceeded - wait 1sec, 234ms");
    assert_eq!(exception.wait_ms(), Some(1234));
    assert_eq!(exception.action(), RetryAction::WaitAsSpecified);
    let wait = |wait_ms| {
        Exception::throttled(ThrottleType::ReadSize, wait_ms)
            .message()
            .rsplit(" - wait ")
            .next()
            .unwrap()
            .to_string()
    };
    assert_eq!(wait(0), "0ms");
    assert_eq!(wait(3_660_000), "1hr, 1min, 0ms");
    assert_eq!(wait(7_384_005), "2hrs, 3mins, 4sec, 5ms");
    assert_eq!(Exception::new(ExceptionKind::RpcThrottling, "x - wait 3years").wait_ms(), None);
}

#[test]
fn unknown_class_is_final_only_with_do_not_retry() {
    let answer = |do_not_retry, server_overloaded| {
        let name = Some("com.example.Odd".to_string());
        Exception::from_response(&pb::ExceptionResponse {
            exception_class_name: name,
            do_not_retry,
            server_overloaded,
            ..Default::default()
        })
    };
    assert_eq!(answer(None, None).action(), RetryAction::Relocate);
    assert_eq!(answer(Some(true), None).action(), RetryAction::GiveUp);
    assert_eq!(answer(Some(false), Some(true)).action(), RetryAction::WaitOverloaded);
    assert_eq!(answer(None, None).class(), "com.example.Odd");
}

#[test]
fn store_errors_map_to_hbase_exception_classes() {
    let kind_of = |kind| Exception::from(&Error::new(kind, "why")).kind();
    assert_eq!(kind_of(ErrorKind::InvalidRequest), Some(ExceptionKind::DoNotRetry));
    assert_eq!(kind_of(ErrorKind::NoSuchRegion), Some(ExceptionKind::NotServingRegion));
    assert_eq!(kind_of(ErrorKind::Busy), Some(ExceptionKind::RegionTooBusy));
    assert_eq!(kind_of(ErrorKind::TableEnabled), Some(ExceptionKind::TableNotDisabled));
    assert_eq!(Exception::from(&Error::invalid("row is empty")).message(), "row is empty");
}

#[test]
fn errors_with_own_class_round_trip() {
    for kind in [
        ErrorKind::InvalidRequest,
        ErrorKind::NoSuchFamily,
        ErrorKind::NoSuchTable,
        ErrorKind::TableDisabled,
        ErrorKind::NoSuchSnapshot,
        ErrorKind::NoSuchRegion,
        ErrorKind::WrongRegion,
        ErrorKind::Busy,
        ErrorKind::Stopped,
        ErrorKind::Corrupt,
        ErrorKind::IncompatibleFilter,
        ErrorKind::RowTooBig,
        ErrorKind::Io,
    ] {
        assert_eq!(Error::from(&Exception::from(&Error::new(kind, "why"))).kind(), kind);
    }
}

/// HBase's region servers have a separate class for this exception, which most clients cannot load.
#[test]
fn row_too_big_is_recognized_by_server_class() {
    let name = Some("org.apache.hadoop.hbase.regionserver.RowTooBigException".to_string());
    let exception = Exception::from_response(&pb::ExceptionResponse {
        exception_class_name: name,
        do_not_retry: Some(true),
        ..Default::default()
    });
    assert_eq!(
        (exception.kind(), exception.action()),
        (Some(ExceptionKind::RowTooBig), RetryAction::GiveUp)
    );
    assert_eq!(Error::from(&exception).kind(), ErrorKind::RowTooBig);
    assert_eq!(
        ExceptionKind::RowTooBig.class(),
        "org.apache.hadoop.hbase.client.RowTooBigException"
    );
}

#[test]
fn retryable_store_errors_are_retryable_on_wire() {
    for kind in
        [ErrorKind::NoSuchRegion, ErrorKind::WrongRegion, ErrorKind::Busy, ErrorKind::DiskFull]
    {
        assert!(kind.is_retryable());
        assert!(!Exception::from(&Error::new(kind, "")).is_do_not_retry());
    }
}

proptest! {
    #[test]
    fn every_wait_round_trips_through_text(what in prop::sample::select(ThrottleType::ALL.to_vec()), wait_ms in any::<u64>()) {
        prop_assert_eq!(Exception::throttled(what, wait_ms).wait_ms(), Some(wait_ms));
    }

    #[test]
    fn every_server_location_round_trips_through_text(host in "[a-z0-9.-]{1,40}", port in any::<u16>(), start_code in any::<u64>(), sequence in any::<u64>()) {
        let to = MovedTo { host, port, start_code, sequence };
        prop_assert_eq!(MovedTo::parse(&to.to_string()), Some(to));
    }

    #[test]
    fn arbitrary_exception_text_never_panics(class in ".*", trace in ".*") {
        let exception = Exception::from_pair(&pb::NameBytesPair { name: class, value: Some(Bytes::from(trace)) });
        let _ = (exception.action(), exception.wait_ms(), exception.to_response());
    }
}

#[test]
fn exception_text_is_truncated_when_written_and_read() {
    let long = "\u{e9}".repeat(1 << 20);
    for exception in [
        Exception::new(ExceptionKind::DoNotRetry, long.clone()),
        Exception::from(Error::invalid(long.clone())),
        Exception::from_response(&pb::ExceptionResponse {
            exception_class_name: Some(long.clone()),
            stack_trace: Some(format!("x{long}")),
            ..Default::default()
        }),
        Exception::from_pair(&pb::NameBytesPair {
            name: "x".to_string(),
            value: Some(Bytes::from(long.clone())),
        }),
    ] {
        assert!(exception.message().len() < 100_000, "{}", exception.message().len());
        assert!(exception.class().len() < 100_000 && exception.message().ends_with("..."));
    }
}
