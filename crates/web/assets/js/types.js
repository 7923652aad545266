// Shapes of the API's answers, for the type checker. Times are in milliseconds since 1970.

/** @typedef {{hex: string, fields?: string[], len?: number, escaped?: string}} Key */
/** @typedef {number | null | undefined} Figure */
/** @typedef {{name: string, type: string | null, ddl?: string, derived: boolean, desc: boolean}} KeyField */
/** @typedef {{ddl: string, fields: KeyField[], fingerprint?: string}} RowKey */
/** @typedef {{status: number, kind: string, title: string, detail?: string, field?: string}} ProblemDocument */
/**
 * @typedef {object} Server
 * @property {string | null} name
 * @property {number} regions
 * @property {number} [requests_total]
 * @property {Figure} reads_per_s
 * @property {Figure} writes_per_s
 * @property {Figure} p99_ms
 * @property {Figure} memstore_bytes
 * @property {Figure} memstore_limit_bytes
 * @property {Figure} locality
 */
/**
 * @typedef {object} ClusterAnswer
 * @property {number} as_of
 * @property {string[]} [missing]
 * @property {string} mode
 * @property {string} version
 * @property {string | null} heat_level
 * @property {boolean} read_only
 * @property {boolean} [shows_rows]
 * @property {Server[]} servers
 * @property {Figure} effective_servers
 * @property {number} [regions]
 * @property {Figure} regions_in_transition
 * @property {number} [requests_total]
 * @property {Figure} store_file_bytes
 * @property {Figure} [store_files]
 * @property {number} tasks_running
 * @property {Figure[]} [requests_series]
 */
/**
 * @typedef {object} TableRow
 * @property {string} name
 * @property {number} regions
 * @property {Figure} rows
 * @property {number} size_bytes
 * @property {Figure} reads_per_s
 * @property {Figure} writes_per_s
 * @property {Figure} p99_ms
 * @property {Figure} skew_window_p99
 * @property {Figure} skew_static
 * @property {Figure} effective_regions
 * @property {string | null} shape
 * @property {string | null} severity
 * @property {{w: number, h: number, data: string} | null} thumb
 * @property {Figure} [ttl_s]
 * @property {string | null} [compression]
 */
/** @typedef {{as_of: number, missing?: string[], total: number, tables: TableRow[], counts?: Record<string, number>}} TablesAnswer */
/**
 * @typedef {object} Family
 * @property {string} name
 * @property {number} versions
 * @property {Figure} ttl_s
 * @property {string} bloom
 * @property {string} compression
 * @property {string} data_block_encoding
 */
/**
 * @typedef {object} TableExtra
 * @property {number} as_of
 * @property {string} [state]
 * @property {RowKey | null} row_key
 * @property {string | null} [row_key_error]
 * @property {Family[]} families
 * @property {string | null} ddl
 * @property {Record<string, string>} [attributes]
 * @property {{field: string, distinct: Figure, lowest: string, highest: string, bytes: Figure, use: string}[] | null} [key_stats]
 * @property {{encoding: string, codec: string, bytes: number, in_use?: boolean}[] | null} [bytes_per_cell]
 */
/** @typedef {TableRow & TableExtra} TableAnswer */
/**
 * @typedef {object} Region
 * @property {string} name
 * @property {string} encoded_name
 * @property {string | null} server
 * @property {Key} start_key
 * @property {Key} end_key
 * @property {Figure} locality
 * @property {number} requests_total
 * @property {number} read_requests_total
 * @property {number} write_requests_total
 * @property {Figure} reads_per_s
 * @property {Figure} writes_per_s
 * @property {Figure} p99_ms
 * @property {Figure} rows
 * @property {number} size_bytes
 * @property {Figure} store_files
 * @property {Figure} memstore_bytes
 * @property {{kind: string, progress: Figure} | string | null} compaction
 * @property {Figure} share
 * @property {Figure} share_of_mean
 * @property {string} state
 * @property {string[]} badges
 * @property {string} [group]
 * @property {Figure[]} [reads_series]
 * @property {Figure[]} [writes_series]
 */
/** @typedef {{name: string, regions: number, offset: number, reads_per_s: Figure, writes_per_s: Figure, size_bytes: number, share: Figure}} RegionGroup */
/** @typedef {{as_of: number, total: number, table_regions?: number, regions: Region[], groups?: RegionGroup[], ruler?: number[]}} RegionsAnswer */
/**
 * @typedef {object} RegionExtra
 * @property {{start: Key, load: number}[] | null} [sub_ranges]
 * @property {Key | null} [half_load_key]
 * @property {[number, number] | null} [half_load]
 * @property {[number, number] | null} [half_size]
 * @property {Key | null} [half_size_key]
 * @property {boolean | null} [divisible]
 * @property {{family: string, name: string, size_bytes: number, cells?: Figure}[] | null} [store_file_list]
 * @property {number} [flushes]
 * @property {number} [compactions]
 */
/** @typedef {Region & RegionExtra} RegionAnswer */
/**
 * @typedef {object} Finding
 * @property {string} table
 * @property {string} shape
 * @property {string} severity
 * @property {Figure} confidence
 * @property {string} rule
 * @property {string} text
 * @property {Record<string, Figure>} [evidence]
 * @property {Figure} [since]
 * @property {string} [split]
 * @property {string} [why]
 * @property {{kind: string, text: string} | null} [fix]
 * @property {Figure} [p99_cost_ms]
 */
/** @typedef {{as_of: number, findings: Finding[]}} DiagnosisAnswer */
/** @typedef {{id: number, state: string, description: string, status: string, progress: Figure, started: Figure, left_s: Figure}} Task */
/** @typedef {{at: number, kind: string, table?: string | null, key?: Key | null, text: string, server?: string}} Event_ */
/**
 * @typedef {object} SlowCall
 * @property {number} start_time
 * @property {number} processing_ms
 * @property {number} queue_ms
 * @property {number} response_bytes
 * @property {Figure} block_bytes_scanned
 * @property {string} client_address
 * @property {string} method_name
 * @property {string} call_details
 * @property {string | null} region_name
 */
/** @typedef {{family: string, qualifier: Key, ts: number, type: string, value: {hex: string, len: number}}} Cell */
/** @typedef {{key: Key, cells: Cell[], cells_total?: number}} Row */
/** @typedef {{ranges: number, regions: Figure, salts?: number[], rows_examined: number, ms: number, text?: string | null}} RowsPlan */
/** @typedef {{as_of: number, plan: RowsPlan, rows: Row[], next: string | null}} RowsAnswer */
/** @typedef {{rule: string, severity: string, text: string, fix?: string | null, line?: Figure}} Lint */
/**
 * @typedef {object} HeatRow
 * @property {Key} start
 * @property {Key} end
 * @property {string | null} region
 * @property {Figure} rows_est
 * @property {Figure} bytes
 * @property {boolean} [other]
 * @property {string[]} [label]
 */
/**
 * @typedef {object} HeatHeader
 * @property {number} [as_of]
 * @property {number} from
 * @property {number} to
 * @property {number} dt_ms
 * @property {string} layer
 * @property {number} cols
 * @property {number} rows
 * @property {string} metric
 * @property {string} unit
 * @property {HeatRow[]} row
 * @property {{encoded_name: string, row: number, since: number, server?: string | null}[]} regions
 * @property {Event_[]} events
 * @property {{from: number, to: number, why: string}[]} gaps
 * @property {{from: number, to: number}[]} estimated
 * @property {Figure} [next_column_at]
 * @property {Figure} [operations]
 * @property {(number | null)[][]} [mean]
 * @property {(number | null)[][]} [max]
 */
/** @typedef {{h: HeatHeader, mean: Float32Array, max: Float32Array}} Heat */
/**
 * @typedef {object} HeatCell
 * @property {{key: Key, per_s: number, error: number}[]} top_rows
 * @property {{addr: string, share: number}[]} clients
 * @property {{fingerprint: string, text: string, share: number}[]} statements
 * @property {string} sampled
 * @property {string[]} regions
 * @property {Figure} p99_ms
 */
/** @typedef {{rank: number, key: Key, per_s: number, error: number, share: number, bytes_per_s: Figure, clients: (string | {addr: string})[], first_seen: Figure, last_seen: Figure, server: string | null}} HotKey */
/** @typedef {{as_of: number, rows: HotKey[], sampled: string, counters: number}} HotKeysAnswer */
/** @typedef {{now: Figure, then: Figure, source?: string, ci?: [number, number]}} Delta */
/** @typedef {{id?: string, ddl: string, note?: string}} Candidate */
/**
 * @typedef {object} WhatIfAnswer
 * @property {Candidate[]} [candidates]
 * @property {number} [operations]
 * @property {Record<string, Delta>} [metrics]
 * @property {{query: string, now: string, then: string}[]} [worse]
 * @property {{ddl: string, bytes: Figure, seconds: Figure}} [migration]
 * @property {HeatHeader} [heat]
 */
/** @typedef {{do: string, region?: string, ms?: Figure, count?: number, load?: number[], text?: string, bytes?: Figure}} Step */
/** @typedef {{would?: Step[], statement?: string, task?: number}} ActionAnswer */

export {};
