//! Description of the API (`OpenAPI` 3.1), made from the handlers and the types of their answers.

use std::sync::LazyLock;

use axum::response::Response;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::{
    actions, activity, cluster, diagnosis, heat, hot_keys, keys, operations, region, regions, rows,
    table, tables, what_if,
};
use crate::call::{Call, Document};
use crate::gate::Weight;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Halite",
        description = "Tables, regions, rows and load. Times are milliseconds since 1970; metrics \
                       that are not known are null and named in missing; bytes are hexadecimal \
                       digits.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    paths(
        document,
        cluster::cluster,
        tables::tables,
        table::table,
        regions::regions,
        regions::regions_csv,
        region::region,
        actions::split,
        actions::merge,
        actions::move_region,
        actions::flush_region,
        actions::compact_region,
        actions::flush_table,
        actions::compact_table,
        rows::rows,
        rows::cell,
        keys::lint_table,
        keys::lint_text,
        keys::plan,
        activity::tasks,
        activity::task,
        activity::events,
        activity::mark_deploy,
        activity::slow_log,
        heat::heat,
        heat::heat_cell,
        hot_keys::hot_keys,
        diagnosis::table_diagnosis,
        diagnosis::diagnosis,
        operations::operations,
        what_if::what_if,
    ),
    modifiers(&Token),
)]
struct Api;

/// Adds the token as a way to be allowed.
struct Token;

impl Modify for Token {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        api.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

static TEXT: LazyLock<String> = LazyLock::new(|| {
    Api::openapi().to_json().unwrap_or_else(|error| {
        tracing::error!(%error, "writing the description of the API");
        "{}".to_owned()
    })
});

/// This description.
#[utoipa::path(
    get,
    path = "/api/openapi.json",
    tag = "cluster",
    responses((status = 200, body = Object, content_type = "application/json"))
)]
pub(crate) async fn document(call: Call) -> Response {
    call.document(Weight::Light, |_, _| {
        Ok(Document {
            content_type: "application/json",
            file_name: None,
            bytes: TEXT.clone().into_bytes(),
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_path_is_described() {
        let described: BTreeSet<String> = Api::openapi().paths.paths.into_keys().collect();
        let served: BTreeSet<String> =
            crate::api::routes().into_iter().map(|(path, _)| path.to_owned()).collect();
        assert_eq!(described, served);
    }

    #[test]
    fn description_is_of_version_3_1() {
        let text: serde_json::Value = serde_json::from_str(&TEXT).unwrap();
        assert_eq!(text["openapi"], "3.1.0");
        let region = &text["components"]["schemas"]["Region"]["properties"];
        assert!(region["requests_total"].is_object() && region["start_key"].is_object());
        assert_eq!(text["components"]["securitySchemes"]["token"]["scheme"], "bearer");
    }
}
