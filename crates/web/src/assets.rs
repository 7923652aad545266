//! Files of the page, which are a part of the program.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::{Path, Query};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use halite_types::TableName;
use serde::Deserialize;

use crate::call::{etag, has_tag};
use crate::site::Site;

/// File of the page.
#[derive(Clone, Copy, Debug)]
struct Asset {
    path: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// Creates an entry with the file of that path in `assets`.
macro_rules! asset {
    ($name:literal, $content_type:ident) => {
        Asset {
            path: concat!("/", $name),
            content_type: $content_type,
            bytes: include_bytes!(concat!("../assets/", $name)),
        }
    };
}

/// The document of all pages; its script shows the one of the URL.
static INDEX: Asset = asset!("index.html", HTML);

/// All other files, by their paths.
static ASSETS: &[Asset] = &[
    asset!("js/activity.js", JS),
    asset!("js/api.js", JS),
    asset!("js/diagnosis.js", JS),
    asset!("js/dom.js", JS),
    asset!("js/format.js", JS),
    asset!("js/grid.js", JS),
    asset!("js/heatcell.js", JS),
    asset!("js/heatdata.js", JS),
    asset!("js/heatexport.js", JS),
    asset!("js/heatlegend.js", JS),
    asset!("js/heatpage.js", JS),
    asset!("js/heattools.js", JS),
    asset!("js/heatview.js", JS),
    asset!("js/hotkeys.js", JS),
    asset!("js/jump.js", JS),
    asset!("js/keyboard.js", JS),
    asset!("js/keys.js", JS),
    asset!("js/main.js", JS),
    asset!("js/overview.js", JS),
    asset!("js/picture.js", JS),
    asset!("js/place.js", JS),
    asset!("js/poll.js", JS),
    asset!("js/prefs.js", JS),
    asset!("js/ramp.js", JS),
    asset!("js/region.js", JS),
    asset!("js/regions.js", JS),
    asset!("js/rows.js", JS),
    asset!("js/schema.js", JS),
    asset!("js/states.js", JS),
    asset!("js/table.js", JS),
    asset!("js/tablename.js", JS),
    asset!("js/tables.js", JS),
    asset!("js/theme.js", JS),
    asset!("js/whatif.js", JS),
    asset!("js/widgets.js", JS),
    asset!("pages.css", CSS),
    asset!("style.css", CSS),
];

/// Entity tags of the files, in their order.
static TAGS: LazyLock<Vec<String>> =
    LazyLock::new(|| ASSETS.iter().map(|asset| etag(asset.bytes)).collect());

/// Part of the path of all files, another one for each version of them: a browser keeps what it has
/// under one path, so that a page is shown with one request for its document.
static VERSION: LazyLock<String> =
    LazyLock::new(|| etag(TAGS.concat().as_bytes()).trim_matches('"').to_owned());

/// The document with the paths of the files, and its entity tag.
static DOCUMENT: LazyLock<(String, String)> = LazyLock::new(|| {
    let mut text = String::from_utf8_lossy(INDEX.bytes).into_owned();
    for Asset { path, .. } in ASSETS {
        text = text.replace(&format!("\"{path}\""), &format!("\"{}{path}\"", prefix()));
    }
    let tag = etag(text.as_bytes());
    (text, tag)
});

/// Cache of what is requested again each time, and answered with "not modified".
const ASK_AGAIN: &str = "no-cache";
/// Cache of what never changes.
const KEEP: &str = "public, max-age=31536000, immutable";

fn prefix() -> String {
    format!("/assets/{}", *VERSION)
}

/// Paths of pages.
const PAGES: [&str; 5] = ["/", "/tables", "/activity", "/t/{t}", "/t/{t}/{page}"];

/// Adds the files, the pages, and the pages of HBase, which lead to those like them.
pub(crate) fn add_routes(router: Router<Arc<Site>>) -> Router<Arc<Site>> {
    let page = |headers: HeaderMap| async move {
        let (text, tag) = &*DOCUMENT;
        serve(INDEX.content_type, text.as_bytes(), tag, ASK_AGAIN, &headers)
    };
    let router = PAGES.iter().fold(router, |router, path| router.route(path, get(page)));
    let router = ASSETS.iter().enumerate().fold(router, |router, (at, asset)| {
        let file = move |version: Option<Path<String>>, headers: HeaderMap| async move {
            let tag = TAGS.get(at).map_or("", String::as_str);
            // A page of an earlier version may load more of its files.
            let is_current = version.is_some_and(|Path(version)| version == *VERSION);
            let cache = if is_current { KEEP } else { ASK_AGAIN };
            serve(asset.content_type, asset.bytes, tag, cache, &headers)
        };
        let versioned = format!("/assets/{{version}}{}", asset.path);
        router.route(&versioned, get(file)).route(asset.path, get(file))
    });
    router
        .route("/master-status", get(async || Redirect::temporary("/")))
        .route("/rs-status", get(async || Redirect::temporary("/")))
        .route("/table.jsp", get(page_of_table))
        .route("/favicon.ico", get(async || StatusCode::NO_CONTENT))
}

fn serve(
    content_type: &'static str,
    bytes: &'static [u8],
    tag: &str,
    cache: &'static str,
    headers: &HeaderMap,
) -> Response {
    let known = [
        (header::ETAG, HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static(""))),
        (header::CACHE_CONTROL, HeaderValue::from_static(cache)),
    ];
    if has_tag(headers, tag) {
        return (StatusCode::NOT_MODIFIED, known).into_response();
    }
    let content_type = [(header::CONTENT_TYPE, HeaderValue::from_static(content_type))];
    (content_type, known, bytes).into_response()
}

#[derive(Deserialize)]
struct TableQuery {
    name: Option<String>,
}

/// Leads from HBase's page of a table to ours.
async fn page_of_table(Query(query): Query<TableQuery>) -> Redirect {
    let table = query.name.and_then(|name| name.parse::<TableName>().ok());
    match table {
        Some(table) => Redirect::temporary(&format!("/t/{}/regions", in_path(&table.to_string()))),
        None => Redirect::temporary("/tables"),
    }
}

/// Returns a name as a part of a path: all but letters, digits and a few signs as `%XX`.
fn in_path(name: &str) -> String {
    name.bytes().fold(String::new(), |mut path, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte) {
            path.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(path, "%{byte:02X}");
        }
        path
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn files_below(folder: &std::path::Path, prefix: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}/{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                files_below(&entry.path(), &name, found);
            } else {
                found.insert(name);
            }
        }
    }

    #[test]
    fn every_file_of_assets_is_served() {
        let mut files = BTreeSet::new();
        files_below(
            &std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets"),
            "",
            &mut files,
        );
        let served: BTreeSet<String> =
            ASSETS.iter().chain([&INDEX]).map(|asset| asset.path.to_owned()).collect();
        assert_eq!(served, files);
        assert!(ASSETS.iter().all(|asset| [CSS, JS].contains(&asset.content_type)));
    }

    /// `HALITE_UPDATE_GOLDEN=1` writes the file.
    #[test]
    fn page_has_the_colors_scale_and_words_of_pictures() {
        let module = halite_rowkey_tools::picture::page_module();
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/js/picture.js");
        if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() {
            std::fs::write(file, &module).unwrap();
        }
        assert_eq!(std::fs::read_to_string(file).unwrap(), module);
    }

    #[test]
    fn document_names_files_under_their_version() {
        let (text, _) = &*DOCUMENT;
        assert!(text.contains(&format!("src=\"{}/js/main.js\"", prefix())), "{text}");
        let plain = ["\"/js/", ".css\""].map(|part| text.matches(part).count());
        assert_eq!(plain, [0, text.matches(&prefix()).count() - text.matches(".js\"").count()]);
        assert!(text.contains("\"/status.txt\""), "{text}");
    }

    #[test]
    fn scripts_and_styles_are_few_hundred_kilobytes() {
        const MAX_BYTES: usize = 330 << 10;
        let bytes: usize = ASSETS.iter().map(|asset| asset.bytes.len()).sum();
        assert!(bytes <= MAX_BYTES, "{bytes} of {MAX_BYTES} bytes: the page loads without a cache");
    }

    #[tokio::test]
    async fn page_of_table_leads_nowhere_else() {
        let of = |name: &str| page_of_table(Query(TableQuery { name: Some(name.to_owned()) }));
        let to = |redirect: Redirect| {
            let response = redirect.into_response();
            response.headers()[header::LOCATION].to_str().unwrap().to_owned()
        };
        assert_eq!(to(of("shop:orders").await), "/t/shop:orders/regions");
        assert_eq!(to(of("//evil.example/").await), "/tables");
        assert_eq!(to(of("a\r\nSet-Cookie: x").await), "/tables");
    }
}
