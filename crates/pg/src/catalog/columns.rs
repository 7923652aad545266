//! Tables of `pg_catalog` with their columns, as of PostgreSQL 16.
//!
//! A column is its name and the letter of its type: `i` for numbers and object identifiers, `b` for
//! booleans, `t` for text, names and single letters, `a` for lists of text, `n` for lists of
//! numbers.

use halite_sql::datafusion::sql::sqlparser::ast::ObjectName;

use super::names::SCHEMA;

/// Tables by name. `rows.rs` has the rows; those that it does not name are empty.
pub(super) const TABLES: &[(&str, &str)] = &[
    ("pg_aggregate", "aggfnoid:i aggkind:t aggnumdirectargs:i"),
    ("pg_am", "oid:i amname:t amhandler:t amtype:t"),
    ("pg_attrdef", "oid:i adrelid:i adnum:i adbin:t"),
    (
        "pg_attribute",
        "attrelid:i attname:t atttypid:i attlen:i attnum:i attcacheoff:i atttypmod:i attndims:i \
         attbyval:b attalign:t attstorage:t attcompression:t attnotnull:b atthasdef:b \
         atthasmissing:b attidentity:t attgenerated:t attisdropped:b attislocal:b attinhcount:i \
         attstattarget:i attcollation:i attacl:a attoptions:a attfdwoptions:a attmissingval:t",
    ),
    ("pg_auth_members", "oid:i roleid:i member:i grantor:i admin_option:b"),
    ("pg_available_extensions", "name:t default_version:t installed_version:t comment:t"),
    ("pg_cast", "oid:i castsource:i casttarget:i castfunc:i castcontext:t castmethod:t"),
    (
        "pg_class",
        "oid:i relname:t relnamespace:i reltype:i reloftype:i relowner:i relam:i relfilenode:i \
         reltablespace:i relpages:i reltuples:i relallvisible:i reltoastrelid:i relhasindex:b \
         relisshared:b relpersistence:t relkind:t relnatts:i relchecks:i relhasrules:b \
         relhastriggers:b relhassubclass:b relrowsecurity:b relforcerowsecurity:b \
         relispopulated:b relreplident:t relispartition:b relrewrite:i relfrozenxid:i relminmxid:i \
         relacl:a reloptions:a relpartbound:t",
    ),
    (
        "pg_collation",
        "oid:i collname:t collnamespace:i collowner:i collprovider:t collisdeterministic:b \
         collencoding:i collcollate:t collctype:t colliculocale:t collicurules:t collversion:t",
    ),
    (
        "pg_constraint",
        "oid:i conname:t connamespace:i contype:t condeferrable:b condeferred:b convalidated:b \
         conrelid:i contypid:i conindid:i conparentid:i confrelid:i confupdtype:t confdeltype:t \
         confmatchtype:t conislocal:b coninhcount:i connoinherit:b conkey:n confkey:n conbin:t \
         consrc:t",
    ),
    (
        "pg_conversion",
        "oid:i conname:t connamespace:i conowner:i conforencoding:i contoencoding:i conproc:t \
         condefault:b",
    ),
    (
        "pg_database",
        "oid:i datname:t datdba:i encoding:i datlocprovider:t datistemplate:b datallowconn:b \
         datconnlimit:i datfrozenxid:i datminmxid:i dattablespace:i datcollate:t datctype:t \
         daticulocale:t daticurules:t datcollversion:t datacl:a",
    ),
    ("pg_default_acl", "oid:i defaclrole:i defaclnamespace:i defaclobjtype:t defaclacl:a"),
    ("pg_depend", "classid:i objid:i objsubid:i refclassid:i refobjid:i refobjsubid:i deptype:t"),
    ("pg_description", "objoid:i classoid:i objsubid:i description:t"),
    ("pg_enum", "oid:i enumtypid:i enumsortorder:i enumlabel:t"),
    ("pg_event_trigger", "oid:i evtname:t evtevent:t evtowner:i evtfoid:i evtenabled:t evttags:a"),
    (
        "pg_extension",
        "oid:i extname:t extowner:i extnamespace:i extrelocatable:b extversion:t extconfig:n \
         extcondition:a",
    ),
    ("pg_foreign_data_wrapper", "oid:i fdwname:t fdwowner:i fdwhandler:i fdwvalidator:i fdwacl:a"),
    ("pg_foreign_server", "oid:i srvname:t srvowner:i srvfdw:i srvtype:t srvversion:t srvacl:a"),
    ("pg_foreign_table", "ftrelid:i ftserver:i ftoptions:a"),
    (
        "pg_index",
        "indexrelid:i indrelid:i indnatts:i indnkeyatts:i indisunique:b indnullsnotdistinct:b \
         indisprimary:b indisexclusion:b indimmediate:b indisclustered:b indisvalid:b \
         indcheckxmin:b indisready:b indislive:b indisreplident:b indkey:n indcollation:n \
         indclass:n indoption:n indexprs:t indpred:t indexdef:t",
    ),
    ("pg_inherits", "inhrelid:i inhparent:i inhseqno:i inhdetachpending:b"),
    ("pg_language", "oid:i lanname:t lanowner:i lanispl:b lanpltrusted:b lanacl:a"),
    ("pg_matviews", "schemaname:t matviewname:t matviewowner:t ispopulated:b definition:t"),
    ("pg_namespace", "oid:i nspname:t nspowner:i nspacl:a"),
    ("pg_opclass", "oid:i opcmethod:i opcname:t opcnamespace:i opcowner:i opcintype:i"),
    ("pg_operator", "oid:i oprname:t oprnamespace:i oprowner:i oprkind:t oprleft:i oprright:i"),
    ("pg_partitioned_table", "partrelid:i partstrat:t partnatts:i partdefid:i partattrs:n"),
    (
        "pg_policy",
        "oid:i polname:t polrelid:i polcmd:t polpermissive:b polroles:n polqual:t polwithcheck:t",
    ),
    (
        "pg_policies",
        "schemaname:t tablename:t policyname:t permissive:t roles:a cmd:t qual:t with_check:t",
    ),
    (
        "pg_proc",
        "oid:i proname:t pronamespace:i proowner:i prolang:i procost:i prorows:i provariadic:i \
         prokind:t prosecdef:b proleakproof:b proisstrict:b proretset:b provolatile:t \
         proparallel:t pronargs:i pronargdefaults:i prorettype:i proargtypes:n proargnames:a \
         proallargtypes:n proargmodes:a proargdefaults:t prosrc:t probin:t proconfig:a proacl:a",
    ),
    (
        "pg_publication",
        "oid:i pubname:t pubowner:i puballtables:b pubinsert:b pubupdate:b pubdelete:b pubtruncate:b pubviaroot:b",
    ),
    ("pg_publication_namespace", "oid:i pnpubid:i pnnspid:i"),
    ("pg_publication_rel", "oid:i prpubid:i prrelid:i prqual:t prattrs:n"),
    ("pg_range", "rngtypid:i rngsubtype:i rngmultitypid:i rngcollation:i"),
    ("pg_rewrite", "oid:i rulename:t ev_class:i ev_type:t ev_enabled:t is_instead:b"),
    (
        "pg_roles",
        "oid:i rolname:t rolsuper:b rolinherit:b rolcreaterole:b rolcreatedb:b rolcanlogin:b \
         rolreplication:b rolconnlimit:i rolpassword:t rolvaliduntil:t rolbypassrls:b rolconfig:a",
    ),
    (
        "pg_sequence",
        "seqrelid:i seqtypid:i seqstart:i seqincrement:i seqmax:i seqmin:i seqcache:i seqcycle:b",
    ),
    (
        "pg_settings",
        "name:t setting:t unit:t category:t short_desc:t extra_desc:t context:t vartype:t source:t \
         min_val:t max_val:t enumvals:a boot_val:t reset_val:t sourcefile:t sourceline:i \
         pending_restart:b",
    ),
    ("pg_shdescription", "objoid:i classoid:i description:t"),
    (
        "pg_statistic_ext",
        "oid:i stxrelid:i stxname:t stxnamespace:i stxowner:i stxstattarget:i stxkeys:n stxkind:a",
    ),
    ("pg_subscription", "oid:i subdbid:i subname:t subowner:i subenabled:b"),
    (
        "pg_tables",
        "schemaname:t tablename:t tableowner:t tablespace:t hasindexes:b hasrules:b hastriggers:b rowsecurity:b",
    ),
    ("pg_tablespace", "oid:i spcname:t spcowner:i spcacl:a spcoptions:a"),
    (
        "pg_trigger",
        "oid:i tgrelid:i tgparentid:i tgname:t tgfoid:i tgtype:i tgenabled:t tgisinternal:b tgconstraint:i",
    ),
    (
        "pg_type",
        "oid:i typname:t typnamespace:i typowner:i typlen:i typbyval:b typtype:t typcategory:t \
         typispreferred:b typisdefined:b typdelim:t typrelid:i typsubscript:t typelem:i \
         typarray:i typinput:t typoutput:t typreceive:t typsend:t typmodin:t typmodout:t \
         typalign:t typstorage:t typnotnull:b typbasetype:i typtypmod:i typndims:i typcollation:i \
         typdefaultbin:t typdefault:t typacl:a",
    ),
    (
        "pg_user",
        "usename:t usesysid:i usecreatedb:b usesuper:b userepl:b usebypassrls:b passwd:t valuntil:t useconfig:a",
    ),
    ("pg_views", "schemaname:t viewname:t viewowner:t definition:t"),
];

/// Functions that return tables and take no arguments, which are read as tables.
pub(super) const TABLE_FUNCTIONS: &[(&str, &str)] =
    &[("pg_get_keywords", "word:t catcode:t barelabel:b catdesc:t baredesc:t")];

/// Tables that have rows.
pub(super) const FILLED: &[&str] = &[
    "pg_am",
    "pg_attribute",
    "pg_class",
    "pg_constraint",
    "pg_database",
    "pg_description",
    "pg_index",
    "pg_namespace",
    "pg_roles",
    "pg_tables",
    "pg_settings",
    "pg_tablespace",
    "pg_type",
    "pg_user",
    "pg_views",
];

/// Returns the names of the columns of a table.
pub(super) fn names_of(table: &str) -> impl Iterator<Item = &'static str> {
    let columns = TABLES.iter().filter(move |(name, _)| *name == table);
    let columns = columns.flat_map(|(_, columns)| columns.split_whitespace());
    columns.map(|column| column.split(':').next().unwrap_or(column))
}

/// Returns the letter of the type of the columns that are called so.
pub(super) fn type_of(column: &str) -> Option<&'static str> {
    let mut columns = TABLES.iter().flat_map(|(_, columns)| columns.split_whitespace());
    columns.find_map(|known| known.strip_prefix(column)?.strip_prefix(':'))
}

/// Returns `true` for a table of the schema that never has rows.
pub(super) fn is_empty(table: &str) -> bool {
    TABLES.iter().any(|(name, _)| *name == table) && !FILLED.contains(&table)
}

/// Returns `true` for a column of lists of text, which are null in every row.
pub(super) fn is_null_list(column: &str) -> bool {
    let columns = TABLES.iter().flat_map(|(_, columns)| columns.split_whitespace());
    columns.into_iter().any(|known| known.strip_suffix(":a") == Some(column))
}

/// Returns the table of the catalog that a name means.
pub(super) fn catalog_table(name: &ObjectName) -> Option<&'static str> {
    let mut parts = name.0.iter().filter_map(|part| part.as_ident());
    let (first, second) = (parts.next()?, parts.next());
    let table = match second {
        None => &first.value,
        Some(table) if first.value.eq_ignore_ascii_case(SCHEMA) => &table.value,
        Some(_) => return None,
    };
    let known = TABLES.iter().map(|(name, _)| *name);
    known.into_iter().find(|name| name.eq_ignore_ascii_case(table))
}
