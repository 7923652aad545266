//! Bulk loading: the three calls of HBase's `BulkLoadHFilesTool`.
//!
//! The files are on a local disk of the server process and are copied. HBase moves files only
//! within one HDFS and copies files of a local file system. No client can therefore have a file
//! removed from its location. Details of the contents of a file appear only in the server's log.
//! They are never sent to the client, because it may be any file that this process can read.

use halite_engine::Region;
use halite_types::{BulkLoad, ErrorKind};
use halite_wire::convert::schema::table_name_from_proto;
use halite_wire::proto as pb;

use super::load_paths;
use super::region::{self, RequestTarget};
use crate::base::call::{Call, CallError, Peer, Reply};
use crate::base::call_step::CallStep;
use crate::base::context::Context;

/// URI scheme of paths on a local disk.
const FILE_SCHEME: &str = "file";

/// Answers a `PrepareBulkLoad` with the path of a new directory. HBase's tool returns the path and
/// writes nothing there.
pub(super) fn prepare(context: &Context, call: &Call) -> Result<CallStep, CallError> {
    let request: pb::PrepareBulkLoadRequest = call.message()?;
    let table = table_name_from_proto(&request.table_name)?;
    let directory = context.engine.prepare_bulk_load(&table, &call.peer.user)?;
    Ok(done(pb::PrepareBulkLoadResponse { bulk_token: format!("{FILE_SCHEME}:{directory}") }))
}

/// Answers a `CleanupBulkLoad`: removes the directory of the token.
pub(super) fn clean_up(context: &Context, call: &Call) -> Result<CallStep, CallError> {
    let request: pb::CleanupBulkLoadRequest = call.message()?;
    context.engine.clean_up_bulk_load(&local_path(&request.bulk_token)?)?;
    Ok(done(pb::CleanupBulkLoadResponse {}))
}

/// Answers a `BulkLoadHFile`. Returns `false` if a file does not fit inside the region; the client
/// then looks up the regions again and splits the file. As in HBase, `assign_seq_num` is ignored:
/// the cells always count as written now.
pub(super) fn load(context: &Context, call: &Call) -> Result<CallStep, CallError> {
    let request: pb::BulkLoadHFileRequest = call.message()?;
    let region = match region::find(context, &call.peer, &request.region)? {
        RequestTarget::Region(region) => region,
        RequestTarget::Meta => {
            return Err(CallError::do_not_retry(
                "hbase:meta is computed from the tables there are; load files into tables",
            ));
        }
    };
    let resolved = |path: &str| load_paths::resolve(context, &local_path(path)?);
    let files: Vec<_> = request
        .family_path
        .iter()
        .map(|file| Ok((file.family.clone(), resolved(&file.path)?)))
        .collect::<Result<_, CallError>>()?;
    check_space(context, &region, &files)?;
    let load = BulkLoad { files, ..BulkLoad::new() }.copied();
    let loaded = match region.bulk_load(&load) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::WrongRegion => {
            tracing::info!("nothing was loaded: {error}");
            false
        }
        Err(error) => return Err(load_error(&call.peer, &region, &load, &error)),
    };
    Ok(done(pb::BulkLoadHFileResponse { loaded }))
}

/// Checks that the files fit in the space quota, if there is one.
fn check_space(
    context: &Context,
    region: &Region,
    files: &[(bytes::Bytes, String)],
) -> Result<(), CallError> {
    if !context.quota.has_space_limits() {
        return Ok(());
    }
    // A file without readable metadata is rejected when it is read.
    let size = |(_, path): &(_, String)| std::fs::metadata(path).map_or(0, |file| file.len());
    let paths: Vec<String> = files.iter().map(|(_, path)| path.clone()).collect();
    context.quota.check_load(region, files.iter().map(size).sum(), &paths)
}

/// Returns the error of a failed bulk load. HBase returns `false` for every failure and logs the
/// reason only, and its tool retries ten times. With an error it stops at once.
fn load_error(
    peer: &Peer,
    region: &Region,
    load: &BulkLoad,
    error: &halite_types::Error,
) -> CallError {
    tracing::warn!(region = %region.info().display_name(), "a bulk load failed: {error}");
    match error.kind() {
        // An error in the file is permanent.
        ErrorKind::Corrupt => {
            let file = failed_file(load, error);
            CallError::do_not_retry(format!(
                "{file} is no store file, or is damaged or cut short; the server's log says what \
                 is wrong with it"
            ))
        }
        ErrorKind::Unsupported | ErrorKind::NewerFormat => CallError::do_not_retry(format!(
            "{file} has a version, compression or data block encoding that cannot be read here; \
             the server's log says which. Write it as HFile version 3 with NONE, GZ, SNAPPY, LZ4 \
             or ZSTD",
            file = failed_file(load, error)
        )),
        _ => region::read_error(peer, region, error),
    }
}

/// Returns the file that an error refers to.
fn failed_file<'a>(load: &'a BulkLoad, error: &halite_types::Error) -> &'a str {
    let named =
        load.files.iter().map(|(_, path)| &path[..]).filter(|path| error.message().contains(path));
    named.max_by_key(|path| path.len()).unwrap_or("a file")
}

fn done(message: impl prost::Message + 'static) -> CallStep {
    Ok::<_, CallError>(Reply::new(message)).into()
}

/// Returns the local path for a Hadoop path: `/path`, `file:/path` or `file:///path`.
fn local_path(path: &str) -> Result<String, CallError> {
    let (scheme, rest) = path
        .split_once(':')
        .filter(|(scheme, _)| !scheme.contains('/'))
        .unwrap_or((FILE_SCHEME, path));
    if !scheme.eq_ignore_ascii_case(FILE_SCHEME) {
        let text = format!(
            "{path} lies on another file system ({scheme}); bulk load reads files of the server's \
             own disk only, so copy it there"
        );
        return Err(CallError::do_not_retry(text));
    }
    // The part between the two slashes and the next slash is a host.
    let local = match rest
        .strip_prefix("//")
        .map(|rest| rest.split_at(rest.find('/').unwrap_or(rest.len())))
    {
        Some(("" | "localhost", local)) => local,
        Some((host, _)) => {
            return Err(CallError::do_not_retry(format!(
                "{path} lies on host {host}; leave the host out: file:/path"
            )));
        }
        None => rest,
    };
    if local.starts_with('/') {
        Ok(local.to_owned())
    } else {
        Err(CallError::do_not_retry(format!("{path} is not a whole path; write file:/path")))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use halite_engine::env::Env;
    use halite_engine::hfile::{StoreFileInfo, Writer, WriterOptions};
    use halite_types::{Put, Scan};
    use halite_wire::convert::region::{meta, specifier};
    use halite_wire::exception::Exception;
    use halite_wire::service::{ClientBulkLoadHFile, ClientCleanupBulkLoad, ClientPrepareBulkLoad};

    use super::*;
    use crate::config::Config;
    use crate::testing::test_server::{TestServer, class, name, name_message};

    /// Returns a server that may load from a directory.
    fn rig() -> (TestServer, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let config = Config { bulkload_dirs: vec![folder.path().to_owned()], ..Config::default() };
        (TestServer::with(config), folder)
    }

    fn write_file(folder: &Path, file: &str, family: &str, rows: &[&str]) -> String {
        let mut writer = Writer::create(
            Env::os(folder).unwrap().fs.create(file).unwrap(),
            file,
            WriterOptions::default(),
        )
        .unwrap();
        for row in rows {
            let put = Put::new((*row).to_owned()).add_at(family, "q", 5, "loaded");
            put.mutation().cells().iter().for_each(|cell| writer.append(cell).unwrap());
        }
        writer.finish(StoreFileInfo::default()).unwrap();
        format!("file:{}", folder.join(file).display())
    }

    fn load(
        rig: &TestServer,
        region: pb::RegionSpecifier,
        files: &[(&str, &str)],
    ) -> Result<bool, Exception> {
        let path = |(family, path): &(&str, &str)| pb::bulk_load_h_file_request::FamilyPath {
            family: (*family).to_owned().into(),
            path: (*path).to_owned(),
        };
        let request = pb::BulkLoadHFileRequest {
            region,
            family_path: files.iter().map(path).collect(),
            ..Default::default()
        };
        rig.call::<ClientBulkLoadHFile>(&request).map(|response| response.loaded)
    }

    fn rows(rig: &TestServer) -> usize {
        let mut scanner = rig
            .context
            .engine
            .table(&name("t"))
            .unwrap()
            .scan(Scan::all(), halite_types::ReadTier::Disk);
        scanner.next_rows().unwrap().len()
    }

    #[test]
    fn bulk_load_copies_all_files_or_none() {
        let (rig, folder) = rig();
        rig.create("t", &["f", "g"], &["m"]);
        let first = || specifier(&rig.context.engine.regions(&name("t")).unwrap()[0]);
        let request =
            pb::PrepareBulkLoadRequest { table_name: name_message("t"), region: Some(first()) };
        let token = rig.call::<ClientPrepareBulkLoad>(&request).unwrap().bulk_token;
        assert!(
            token.starts_with("file:/") && Path::new(&token["file:".len()..]).is_dir(),
            "{token}"
        );
        let (one, two) = (
            write_file(folder.path(), "one", "f", &["a", "b"]),
            write_file(folder.path(), "two", "g", &["c"]),
        );
        let both = write_file(folder.path(), "both", "f", &["d", "z"]);
        assert!(!load(&rig, first(), &[("f", &one), ("f", &both)]).unwrap());
        assert_eq!(rows(&rig), 0);
        assert!(load(&rig, first(), &[("f", &one), ("g", &two)]).unwrap());
        assert!(load(&rig, first(), &[]).unwrap());
        assert!(Path::new(&one["file:".len()..]).exists());
        assert_eq!(rows(&rig), 3);
        rig.call::<ClientCleanupBulkLoad>(&pb::CleanupBulkLoadRequest {
            bulk_token: token.clone(),
            region: Some(first()),
        })
        .unwrap();
        assert!(!Path::new(&token["file:".len()..]).exists());
        let elsewhere = pb::CleanupBulkLoadRequest {
            bulk_token: format!("file:{}", folder.path().display()),
            region: None,
        };
        assert_eq!(class(rig.call::<ClientCleanupBulkLoad>(&elsewhere)), "DoNotRetryIOException");
    }

    #[test]
    fn unloadable_file_is_rejected_without_retry() {
        let (rig, folder) = rig();
        rig.create("t", &["f"], &[]);
        let region = || specifier(&rig.context.engine.regions(&name("t")).unwrap()[0]);
        let one = write_file(folder.path(), "one", "f", &["a"]);
        std::fs::write(folder.path().join("text"), "no store file").unwrap();
        let text = folder.path().join("text").display().to_string();
        for (family, path, expected) in [
            ("nosuch", &*one, "nosuch"),
            ("f", "hdfs://host:8020/file", "another file system (hdfs)"),
            ("f", "file:/nowhere/file", "/nowhere/file"),
            ("f", "file", "not a whole path"),
            ("f", &text, "text"),
            ("f", &folder.path().display().to_string(), "not a file"),
            ("f", "/dev/zero", "outside of the directories"),
        ] {
            let refused = load(&rig, region(), &[("f", &one), (family, path)]).unwrap_err();
            assert!(
                refused.is_do_not_retry() && refused.message().contains(expected),
                "{path}: {refused:?}"
            );
        }
        assert_eq!(rows(&rig), 0);
        assert_eq!(class(load(&rig, specifier(&meta()), &[("f", &one)])), "DoNotRetryIOException");
        let request = pb::PrepareBulkLoadRequest { table_name: name_message("gone"), region: None };
        assert_eq!(class(rig.call::<ClientPrepareBulkLoad>(&request)), "TableNotFoundException");
        let region = region();
        rig.disable("t");
        assert_eq!(class(load(&rig, region, &[("f", &one)])), "NotServingRegionException");
    }

    #[test]
    fn file_outside_load_directory_is_reported_as_missing() {
        let (rig, folder) = rig();
        let elsewhere = tempfile::tempdir().unwrap();
        rig.create("t", &["f"], &[]);
        let region = || specifier(&rig.context.engine.regions(&name("t")).unwrap()[0]);
        let there = write_file(elsewhere.path(), "there", "f", &["a"]);
        let stepped = format!(
            "{}/../{}/there",
            folder.path().display(),
            elsewhere.path().file_name().unwrap().display()
        );
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("linked")).unwrap();
        let linked = folder.path().join("linked/there").display().to_string();
        let missing = folder.path().join("linked/missing").display().to_string();
        let refusal = |path: &str| {
            let refused = load(&rig, region(), &[("f", path)]).unwrap_err();
            assert!(refused.is_do_not_retry(), "{refused:?}");
            refused.message().replace(path.trim_start_matches("file:"), "PATH")
        };
        let expected = refusal("/nowhere/at/all");
        assert!(
            expected.starts_with(
                "PATH is not there, or lies outside of the directories that bulk load reads: "
            ),
            "{expected}"
        );
        for path in
            [&there, &stepped, &linked, &missing, "/etc/passwd", "/etc/no-such-file", "/etc"]
        {
            assert_eq!(refusal(path), expected, "{path}");
        }
        assert_eq!(rows(&rig), 0);
        // Any file may be written below the directory of a token.
        let request = pb::PrepareBulkLoadRequest { table_name: name_message("t"), region: None };
        let token = rig.call::<ClientPrepareBulkLoad>(&request).unwrap().bulk_token;
        let staged = write_file(Path::new(&token["file:".len()..]), "staged", "f", &["a"]);
        assert!(load(&rig, region(), &[("f", &staged)]).unwrap());
        assert_eq!(rows(&rig), 1);
    }

    #[test]
    fn error_contains_no_bytes_of_rejected_file() {
        let (rig, folder) = rig();
        rig.create("t", &["f"], &[]);
        let region = || specifier(&rig.context.engine.regions(&name("t")).unwrap()[0]);
        let whole = std::fs::read(
            &write_file(folder.path(), "whole", "secretfamily", &["secretrow"])["file:".len()..],
        )
        .unwrap();
        // The last four bytes specify the version, and each part of a store file has a separate
        // check.
        let ends =
            [*b"abcd", [0, 0, 0, 2], [9, 0, 0, 3]].map(|end| [&b"secret"[..], &end].concat());
        let cut = (0..16)
            .map(|part| [&whole[..whole.len() * part / 16], &whole[whole.len() - 4096..]].concat());
        let flipped = (0..whole.len()).step_by(7).map(|at| {
            let mut bytes = whole.clone();
            bytes[at] = bytes[at].wrapping_add(b'S');
            bytes
        });
        let path = folder.path().join("odd");
        for bytes in ends.into_iter().chain(cut).chain(flipped).chain([whole.clone()]) {
            std::fs::write(&path, &bytes).unwrap();
            let Err(refused) = load(&rig, region(), &[("f", path.to_str().unwrap())]) else {
                panic!("{:?} was loaded", bytes.escape_ascii())
            };
            let text = refused.message().replace(path.to_str().unwrap(), "PATH");
            let is_known = [
                "PATH is no store file",
                "PATH has a version, compression",
                "store file PATH is to be loaded into family f and holds cells of another",
            ]
            .iter()
            .any(|known| text.starts_with(known));
            assert!(is_known, "{text}");
        }
    }

    #[test]
    fn hadoop_path_forms_are_accepted() {
        for path in ["/a/b c", "file:/a/b c", "file:///a/b c", "FILE://localhost/a/b c"] {
            assert_eq!(local_path(path).unwrap(), "/a/b c");
        }
        assert_eq!(local_path("/a:b/c").unwrap(), "/a:b/c");
        for path in [
            "",
            "file:",
            "a/b",
            "file:a/b",
            "file://",
            "file://host/a",
            "hdfs:/a",
            "s3a://bucket/a",
        ] {
            assert!(local_path(path).unwrap_err().exception().is_do_not_retry(), "{path}");
        }
    }
}
