-- What DBeaver asks when it connects, and when its tree, a table and its properties are opened:
-- statements as its PostgreSQL extension sends them (dbeaver/dbeaver,
-- plugins/org.jkiss.dbeaver.ext.postgresql: PostgreDataSource, PostgreExecutionContext,
-- PostgreDatabase, PostgreSchema, PostgreDataTypeCache, PostgreTable and others, 2019 to 2024), and
-- as DBeaver 25.1.5 was recorded (datafusion-contrib/datafusion-postgres, issue 135).
--
-- Each has a title, the number of its rows, and the values of its parameters: `schema`, `table` and
-- `key` are object identifiers of the test's tables.

-- title: digits
-- rows: 0
SET extra_float_digits = 3;

-- title: name of the driver
-- rows: 0
SET application_name = 'PostgreSQL JDBC Driver';

-- title: name of the program
-- rows: 0
SET application_name = 'DBeaver 25.1.5 - Main <halite>';

-- title: databases
-- rows: 1
SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE 1 = 1 AND datallowconn AND NOT datistemplate 
ORDER BY db.datname;

-- title: current database
-- rows: 1
SELECT current_database();

-- title: server version
-- rows: 1
SELECT version();

-- title: schema and user
-- rows: 1
SELECT current_schema(),session_user;

-- title: search path
-- rows: 1
SHOW search_path;

-- title: search path after a reset
-- rows: 1
SELECT reset_val FROM pg_settings WHERE name = 'search_path';

-- title: setting
-- rows: 1
-- with: 'standard_conforming_strings'
SELECT * FROM pg_catalog.pg_settings where name=$1;

-- title: settings
-- rows: any
SELECT * FROM pg_catalog.pg_settings;

-- title: isolation
-- rows: 1
SHOW TRANSACTION ISOLATION LEVEL;

-- title: database
-- rows: 1
-- with: 'halite'
SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE datname=$1;

-- title: comment of the database
-- rows: 0
-- with: 'halite'
select description from pg_shdescription join pg_database on objoid = pg_database.oid where datname = $1;

-- title: schemas
-- rows: any
SELECT n.oid,n.*,d.description FROM pg_catalog.pg_namespace n
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=n.oid AND d.objsubid=0 AND d.classoid='pg_namespace'::regclass
 ORDER BY nspname;

-- title: one schema
-- rows: 1
-- with: 'public'
SELECT s.oid as schema_id
from pg_catalog.pg_namespace s
WHERE s.nspname =$1;

-- title: whether there are enums
-- rows: 0
SELECT * FROM pg_catalog.pg_enum WHERE 1<>1 LIMIT 1;

-- title: enums
-- rows: 0
SELECT * FROM pg_catalog.pg_enum;

-- title: whether tables have types
-- rows: 0
SELECT reltype FROM pg_catalog.pg_class WHERE 1<>1 LIMIT 1;

-- title: whether types have categories
-- rows: 0
SELECT typcategory FROM pg_catalog.pg_type WHERE 1<>1 LIMIT 1;

-- title: types
-- rows: any
SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description
FROM pg_catalog.pg_type t
LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid=t.typelem 
LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid=t.typrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid
WHERE t.typname IS NOT NULL
AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C');

-- title: types of a schema
-- rows: 0
-- with: schema
SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description
FROM pg_catalog.pg_type t
LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid=t.typrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid
WHERE t.typname IS NOT NULL
AND t.typnamespace=$1 ;

-- title: type by number
-- rows: 1
-- with: 1184
SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name FROM pg_catalog.pg_type t
LEFT OUTER JOIN pg_class c ON c.oid=t.typrelid
WHERE t.oid=$1 ;

-- title: type by name
-- rows: 1
-- with: 'jsonb'
SELECT t.oid,t.*,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name FROM pg_catalog.pg_type t
LEFT OUTER JOIN pg_class c ON c.oid=t.typrelid
WHERE t.typname=$1 ;

-- title: keywords
-- rows: 1
select string_agg(word, ',') from pg_catalog.pg_get_keywords() where word <> ALL ('{a,abs,absolute,action,ada,add,admin,after,all,allocate,alter,always,and,any,are,array,as,asc,asensitive,assertion,assignment,asymmetric,at,atomic,attribute,begin,between,bigint,by,call,cast,create,cross,current_date,delete,end-exec,from,group,having,insert,join,"null",nullable,nullif,nulls,order,select,table,update,values,where,year,zone}'::text[]);

-- title: roles
-- rows: any
SELECT a.oid,a.*,pd.description FROM pg_catalog.pg_roles a 
left join pg_catalog.pg_shdescription pd on a.oid = pd.objoid
ORDER BY a.rolname;

-- title: members of roles
-- rows: 0
-- with: 10
SELECT a.oid,a.* FROM pg_catalog.pg_auth_members a WHERE a.roleid=$1 ORDER BY a.member;

-- title: access methods
-- rows: any
SELECT am.oid,am.* FROM pg_catalog.pg_am am 
ORDER BY am.oid;

-- title: operator classes
-- rows: 0
SELECT oc.oid,oc.* FROM pg_catalog.pg_opclass oc 
ORDER BY oc.oid;

-- title: encodings
-- rows: any
SELECT c.contoencoding as encid,pg_catalog.pg_encoding_to_char(c.contoencoding) as encname
FROM pg_catalog.pg_conversion c
GROUP BY c.contoencoding
ORDER BY 2;

-- title: collations
-- rows: 0
SELECT c.oid,c.* FROM pg_catalog.pg_collation c 
ORDER BY c.oid;

-- title: languages
-- rows: 0
SELECT l.oid,l.* FROM pg_catalog.pg_language l 
ORDER BY l.oid;

-- title: foreign data wrappers
-- rows: 0
SELECT l.oid,l.*,p.pronamespace as handler_schema_id 
FROM pg_catalog.pg_foreign_data_wrapper l
LEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid=l.fdwhandler 
ORDER BY l.fdwname;

-- title: foreign servers
-- rows: 0
SELECT l.oid,l.* FROM pg_catalog.pg_foreign_server l
ORDER BY l.srvname;

-- title: tablespaces
-- rows: 1
SELECT t.oid,t.*,pg_tablespace_location(t.oid) loc
FROM pg_catalog.pg_tablespace t 
ORDER BY t.oid;

-- title: extensions that could be installed
-- rows: 0
SELECT name,default_version,installed_version,comment FROM pg_catalog.pg_available_extensions ORDER BY name;

-- title: extensions
-- rows: 0
SELECT 
 e.oid,
 cfg.tbls,
  n.nspname as schema_name,
 e.* 
FROM 
 pg_catalog.pg_extension e 
 join pg_namespace n on n.oid =e.extnamespace
 left join  (
         select
            ARRAY_AGG(ns.nspname || '.' ||  cls.relname) tbls, oid_ext
          from
            (
            select
                unnest(e1.extconfig) oid , e1.oid oid_ext
            from
                pg_catalog.pg_extension e1 ) c 
                join    pg_class cls on cls.oid = c.oid 
                join pg_namespace ns on ns.oid = cls.relnamespace
            group by oid_ext        
         ) cfg on cfg.oid_ext = e.oid
ORDER BY e.oid;

-- title: event triggers
-- rows: 0
SELECT pet.*, d.description FROM pg_catalog.pg_event_trigger pet
LEFT OUTER JOIN pg_catalog.pg_description d ON pet."oid" = d.objoid;

-- title: default privileges
-- rows: 0
-- with: schema
SELECT * FROM pg_default_acl WHERE defaclnamespace = $1;

-- title: sizes of databases
-- rows: 1
SELECT db.datname,pg_database_size(db.oid) FROM pg_catalog.pg_database db;

-- title: tables, and their partitions
-- rows: 2
-- with: schema
SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr,  pg_catalog.pg_get_partkeydef(c.oid) as partition_key 
FROM pg_catalog.pg_class c
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_class'::regclass
WHERE c.relnamespace=$1 AND c.relkind not in ('i','I','c');

-- title: tables, and their sequences
-- rows: 2
-- with: schema
SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr,  pg_catalog.pg_get_partkeydef(c.oid) as partition_key , dep.objid, dep.refobjsubid
FROM pg_catalog.pg_class c
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_class'::regclass
LEFT OUTER JOIN pg_depend dep on dep.refobjid = c."oid" AND dep.deptype = 'i' and dep.refobjsubid <> 0 and dep.classid = dep.refclassid
WHERE c.relnamespace=$1 AND c.relkind not in ('i','I','c');

-- title: one table
-- rows: 1
-- with: schema, 'readings'
SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr,  pg_catalog.pg_get_partkeydef(c.oid) as partition_key 
FROM pg_catalog.pg_class c
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_class'::regclass
WHERE c.relnamespace=$1 AND c.relkind not in ('i','I','c') AND relname=$2;

-- title: sizes of tables
-- rows: any
-- with: schema
select c.oid,pg_catalog.pg_total_relation_size(c.oid) as total_rel_size,pg_catalog.pg_relation_size(c.oid) as rel_size
FROM pg_class c
WHERE c.relnamespace=$1;

-- title: columns of a table
-- rows: 4
-- with: table
SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description,dep.objid
FROM pg_catalog.pg_attribute a
INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid)
LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum)
LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)
LEFT OUTER JOIN pg_depend dep on dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid
WHERE NOT a.attisdropped AND c.relkind not in ('i','I','c') AND c.oid=$1
ORDER BY a.attnum;

-- title: columns of a schema
-- rows: any
-- with: schema
SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description
FROM pg_catalog.pg_attribute a
INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid)
LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum)
LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)
WHERE NOT a.attisdropped AND c.relnamespace=$1 AND c.relkind not in ('i','c')  ORDER BY a.attnum;

-- title: constraints of a table
-- rows: 1
-- with: table
SELECT c.oid,c.*,t.relname as tabrelname,rt.relnamespace as refnamespace,d.description, case when c.contype='c' then "substring"(pg_get_constraintdef(c.oid), 7) else null end consrc_copy
FROM pg_catalog.pg_constraint c
INNER JOIN pg_catalog.pg_class t ON t.oid=c.conrelid
LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid=c.confrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_constraint'::regclass
WHERE c.conrelid=$1
ORDER BY c.oid;

-- title: schemas whose constraints refer to a table
-- rows: 0
-- with: table
SELECT DISTINCT connamespace FROM pg_catalog.pg_constraint WHERE confrelid=$1;

-- title: indexes of a table
-- rows: 1
-- with: table
SELECT i.*,i.indkey as keys,c.relname,c.relnamespace,c.relam,c.reltablespace,tc.relname as tabrelname,dsc.description,pg_catalog.pg_get_expr(i.indpred, i.indrelid) as pred_expr,pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) as expr,pg_catalog.pg_relation_size(i.indexrelid) as index_rel_size,pg_catalog.pg_stat_get_numscans(i.indexrelid) as index_num_scans
FROM pg_catalog.pg_index i
INNER JOIN pg_catalog.pg_class c ON c.oid=i.indexrelid
INNER JOIN pg_catalog.pg_class tc ON tc.oid=i.indrelid
LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid=dsc.objoid
WHERE  i.indrelid=$1 ORDER BY tabrelname, c.relname;

-- title: definition of an index
-- rows: 1
-- with: key
select pg_catalog.pg_get_indexdef($1);

-- title: tables that a table inherits from
-- rows: 0
-- with: table
SELECT i.*,c.relnamespace FROM pg_catalog.pg_inherits i,pg_catalog.pg_class c WHERE i.inhrelid=$1 AND c.oid=i.inhparent ORDER BY i.inhseqno;

-- title: tables of a schema that inherit
-- rows: 0
-- with: schema
SELECT i.inhrelid relid, pc.relnamespace parent_ns, pc.oid parent_oid, i.inhseqno
FROM pg_catalog.pg_inherits i, pg_class rc, pg_class pc
WHERE rc.oid=i.inhrelid AND rc.relnamespace=$1 AND pc.oid=i.inhparent;

-- title: triggers of a table
-- rows: 0
-- with: table
SELECT x.oid,x.*,p.pronamespace as func_schema_id,d.description
FROM pg_catalog.pg_trigger x
LEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid=x.tgfoid 
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=x.oid AND d.objsubid=0 
WHERE x.tgrelid = $1 AND NOT x.tgisinternal;

-- title: rules of a table
-- rows: 0
-- with: table
SELECT r.oid,r.*, pg_get_ruledef(r.oid) AS definition FROM pg_rewrite r WHERE r.ev_class=$1 AND r.rulename <> '_RETURN'::name;

-- title: policies of a table
-- rows: 0
-- with: 'public', 'readings'
select * from pg_catalog.pg_policies where schemaname=$1 and tablename=$2;

-- title: functions
-- rows: 0
-- with: schema
SELECT p.oid as poid,p.*,pg_catalog.pg_get_expr(p.proargdefaults, 0) as arg_defaults,d.description
FROM pg_catalog.pg_proc p
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=p.oid and d.classoid='pg_proc'::regclass  AND d.objsubid = 0
WHERE p.pronamespace=$1
ORDER BY p.proname;

-- title: aggregates
-- rows: 0
-- with: schema
SELECT p.oid AS proc_oid,p.proname AS proc_name,a.*
FROM pg_catalog.pg_aggregate a,pg_catalog.pg_proc p
WHERE p.oid=a.aggfnoid AND p.pronamespace=$1
ORDER BY p.proname;

-- title: what depends on a table
-- rows: 0
-- with: table
SELECT DISTINCT dep.deptype, dep.classid, dep.objid, cl.relkind, attr.attname,pg_get_expr(ad.adbin, ad.adrelid) adefval,
    CASE WHEN cl.relkind IS NOT NULL THEN cl.relkind::text || COALESCE(dep.objsubid::text, '')::text
        WHEN tg.oid IS NOT NULL THEN 'T'::text
        WHEN ty.oid IS NOT NULL THEN 'y'::text
        WHEN ns.oid IS NOT NULL THEN 'n'::text
        WHEN pr.oid IS NOT NULL THEN 'p'::text
        WHEN la.oid IS NOT NULL THEN 'l'::text
        WHEN rw.oid IS NOT NULL THEN 'R'::text
        WHEN co.oid IS NOT NULL THEN 'C'::text || contype::text
        WHEN ad.oid IS NOT NULL THEN 'A'::text
        ELSE ''
    END AS type,
    COALESCE(coc.relname, clrw.relname, tgr.relname) AS ownertable,
    CASE WHEN cl.relname IS NOT NULL AND att.attname IS NOT NULL THEN cl.relname || '.' || att.attname
    ELSE COALESCE(cl.relname, co.conname, pr.proname, tg.tgname, ty.typname, la.lanname, rw.rulename, ns.nspname)
    END AS refname,
    COALESCE(nsc.nspname, nso.nspname, nsp.nspname, nst.nspname, nsrw.nspname, tgrn.nspname) AS nspname
FROM pg_depend dep
LEFT JOIN pg_class cl ON dep.objid=cl.oid
LEFT JOIN pg_attribute att ON dep.objid=att.attrelid AND dep.objsubid=att.attnum
LEFT JOIN pg_namespace nsc ON cl.relnamespace=nsc.oid
LEFT JOIN pg_proc pr ON dep.objid=pr.oid
LEFT JOIN pg_namespace nsp ON pr.pronamespace=nsp.oid
LEFT JOIN pg_trigger tg ON dep.objid=tg.oid
LEFT JOIN pg_class tgr ON tg.tgrelid=tgr.oid
LEFT JOIN pg_namespace tgrn ON tgr.relnamespace=tgrn.oid
LEFT JOIN pg_type ty ON dep.objid=ty.oid
LEFT JOIN pg_namespace nst ON ty.typnamespace=nst.oid
LEFT JOIN pg_constraint co ON dep.objid=co.oid
LEFT JOIN pg_class coc ON co.conrelid=coc.oid
LEFT JOIN pg_namespace nso ON co.connamespace=nso.oid
LEFT JOIN pg_rewrite rw ON dep.objid=rw.oid
LEFT JOIN pg_class clrw ON clrw.oid=rw.ev_class
LEFT JOIN pg_namespace nsrw ON clrw.relnamespace=nsrw.oid
LEFT JOIN pg_language la ON dep.objid=la.oid
LEFT JOIN pg_namespace ns ON dep.objid=ns.oid
LEFT JOIN pg_attrdef ad ON ad.oid=dep.objid
LEFT JOIN pg_attribute attr ON attr.attrelid=ad.adrelid and attr.attnum=ad.adnum
WHERE dep.refobjid=$1
ORDER BY type;

-- title: search path of another schema
-- rows: 0
SET search_path = public,"$user";

-- title: rows of a table
-- rows: 2
SELECT * FROM public.readings
LIMIT 200;
