// Shapes of the API's answers and of what the modules of the page pass each other, for the type
// checker alone. Times are in milliseconds since 1970.

type Key = { hex: string; fields?: string[]; len?: number; escaped?: string };
type Figure = number | null | undefined;
type KeyField = {
  name: string;
  type: string | null;
  ddl?: string;
  derived: boolean;
  desc: boolean;
};
type RowKey = { ddl: string; fields: KeyField[]; fingerprint?: string };
type ProblemDocument = {
  status: number;
  kind: string;
  title: string;
  detail?: string;
  field?: string;
};
interface Server {
  name: string | null;
  regions: number;
  requests_total?: number;
  reads_per_s: Figure;
  writes_per_s: Figure;
  p99_ms: Figure;
  memstore_bytes: Figure;
  memstore_limit_bytes: Figure;
  locality: Figure;
}
interface ClusterAnswer {
  as_of: number;
  missing?: string[];
  mode: string;
  version: string;
  heat_level: string | null;
  read_only: boolean;
  shows_rows?: boolean;
  servers: Server[];
  effective_servers: Figure;
  regions?: number;
  regions_in_transition: Figure;
  requests_total?: number;
  store_file_bytes: Figure;
  store_files?: Figure;
  tasks_running: number;
  requests_series?: Figure[];
}
interface TableRow {
  name: string;
  regions: number;
  rows: Figure;
  size_bytes: number;
  reads_per_s: Figure;
  writes_per_s: Figure;
  p99_ms: Figure;
  skew_window_p99: Figure;
  skew_static: Figure;
  effective_regions: Figure;
  shape: string | null;
  severity: string | null;
  thumb: { w: number; h: number; data: string } | null;
  ttl_s?: Figure;
  compression?: string | null;
}
type TablesAnswer = {
  as_of: number;
  missing?: string[];
  total: number;
  tables: TableRow[];
  counts?: Record<string, number>;
};
interface Family {
  name: string;
  versions: number;
  ttl_s: Figure;
  bloom: string;
  compression: string;
  data_block_encoding: string;
}
interface TableExtra {
  as_of: number;
  state?: string;
  row_key: RowKey | null;
  row_key_error?: string | null;
  families: Family[];
  ddl: string | null;
  attributes?: Record<string, string>;
  key_stats?:
    | {
        field: string;
        distinct: Figure;
        lowest: string;
        highest: string;
        bytes: Figure;
        use: string;
      }[]
    | null;
  bytes_per_cell?: { encoding: string; codec: string; bytes: number; in_use?: boolean }[] | null;
}
type TableAnswer = TableRow & TableExtra;
interface Region {
  name: string;
  encoded_name: string;
  server: string | null;
  start_key: Key;
  end_key: Key;
  locality: Figure;
  requests_total: number;
  read_requests_total: number;
  write_requests_total: number;
  reads_per_s: Figure;
  writes_per_s: Figure;
  p99_ms: Figure;
  rows: Figure;
  size_bytes: number;
  store_files: Figure;
  memstore_bytes: Figure;
  compaction: { kind: string; progress: Figure } | string | null;
  share: Figure;
  share_of_mean: Figure;
  state: string;
  badges: string[];
  group?: string;
  reads_series?: Figure[];
  writes_series?: Figure[];
}
type RegionGroup = {
  name: string;
  regions: number;
  offset: number;
  reads_per_s: Figure;
  writes_per_s: Figure;
  size_bytes: number;
  share: Figure;
};
type RegionsAnswer = {
  as_of: number;
  total: number;
  table_regions?: number;
  regions: Region[];
  groups?: RegionGroup[];
  ruler?: number[];
};
interface RegionExtra {
  sub_ranges?: { start: Key; load: number }[] | null;
  half_load_key?: Key | null;
  half_load?: [number, number] | null;
  half_size?: [number, number] | null;
  half_size_key?: Key | null;
  divisible?: boolean | null;
  indivisible_because?: string | null;
  read_p99_ms?: Figure;
  write_p99_ms?: Figure;
  store_file_list?: { family: string; name: string; size_bytes: number; cells?: Figure }[] | null;
  flushes?: number;
  compactions?: number;
}
type RegionAnswer = Region & RegionExtra;
interface Finding {
  table: string;
  shape: string;
  severity: string;
  confidence: Figure;
  rule: string;
  text: string;
  evidence?: Record<string, Figure>;
  region?: {
    encoded_name: string;
    start_key: Key;
    end_key: Key;
    server?: string | null;
    share: number;
  } | null;
  since?: Figure;
  split?: string;
  why?: string;
  fix?: { kind: string; text: string } | null;
  p99_cost_ms?: Figure;
}
type DiagnosisAnswer = { as_of: number; findings: Finding[] };
type Task = {
  id: number;
  state: string;
  description: string;
  status: string;
  progress: Figure;
  started: Figure;
  left_s: Figure;
};
type StoreEvent = {
  at: number;
  kind: string;
  table?: string | null;
  region?: string | null;
  key?: Key | null;
  text: string;
  duration_ms?: number | null;
  bytes?: number | null;
  server?: string;
};
interface SlowCall {
  start_time: number;
  processing_ms: number;
  queue_ms: number;
  response_bytes: number;
  block_bytes_scanned: Figure;
  client_address: string;
  method_name: string;
  call_details: string;
  region_name: string | null;
}
type Cell = {
  family: string;
  qualifier: Key;
  ts: number;
  type: string;
  value: { hex: string; len: number };
};
type Row = { key: Key; cells: Cell[]; cells_total?: number };
type RowsPlan = {
  ranges: number;
  regions: Figure;
  salts?: number[];
  rows_examined: number;
  ms: number;
  text?: string | null;
};
type RowsAnswer = { as_of: number; plan: RowsPlan; rows: Row[]; next: string | null };
type Lint = { rule: string; severity: string; text: string; fix?: string | null; line?: Figure };
interface HeatRow {
  start: Key;
  end: Key;
  region: string | null;
  rows_est: Figure;
  bytes: Figure;
  other?: boolean;
  estimated?: boolean;
  label?: string[];
}
interface HeatHeader {
  as_of?: number;
  from: number;
  to: number;
  dt_ms: number;
  layer: string;
  cols: number;
  rows: number;
  metric: string;
  unit: string;
  scale?: { knee: number; top: number };
  row: HeatRow[];
  regions: { encoded_name: string; row: number; since: number; server?: string | null }[];
  events: StoreEvent[];
  gaps: { from: number; to: number; why: string }[];
  estimated: { from: number; to: number }[];
  next_column_at?: Figure;
  operations?: Figure;
  mean?: (number | null)[][];
  max?: (number | null)[][];
}
type Heat = { h: HeatHeader; mean: Float32Array; max: Float32Array };
interface HeatCell {
  top_rows: { key: Key; per_s: number; error: number }[];
  clients: { addr: string; user?: string; version?: string; share: number }[];
  statements: { fingerprint: string; text: string; share: number }[];
  operations?: Figure;
  sampled: string;
  regions: string[];
  p99_ms: Figure;
}
type HotKey = {
  rank: number;
  key: Key;
  per_s: number;
  error: number;
  share: number;
  bytes_per_s: Figure;
  clients: (string | { addr: string })[];
  first_seen: Figure;
  last_seen: Figure;
  server: string | null;
};
type PrefixLength = { field?: string; bytes?: number };
type HotKeysAnswer = {
  as_of: number;
  rows: HotKey[];
  sampled: string;
  counters: number;
  level?: PrefixLength;
  levels?: PrefixLength[];
};
type Delta = { now: Figure; then: Figure; source?: string; ci?: [number, number] };
type Candidate = { id?: string; ddl: string; note?: string };
type Verdict = {
  shape: string;
  confidence: number;
  title: string;
  distribution: string;
  split: string;
};
interface WhatIfAnswer {
  notes?: string[];
  sampled?: string;
  misfits?: number;
  candidates?: Candidate[];
  operations?: number;
  metrics?: Record<string, Delta>;
  verdicts?: { now: Verdict; then: Verdict };
  worse?: { query: string; now: string; then: string }[];
  migration?: { ddl: string; bytes: Figure; seconds: Figure };
  heat?: HeatHeader;
}
type Step = {
  do: string;
  region?: string;
  ms?: Figure;
  count?: number;
  load?: number[];
  text?: string;
  bytes?: Figure;
};
type ActionAnswer = { would?: Step[]; statement?: string; task?: number };

/** What a page gets. `set` writes state into the address; with `push` Back restores the one before. */
interface Page {
  root: HTMLElement;
  params: URLSearchParams;
  signal: AbortSignal;
  set(values: Record<string, string | number | null>, push?: boolean): void;
  /** Value of a parameter; one that is not allowed is reported and replaced. */
  choice(name: string, allowed: string[], fallback: string): string;
  poll(main: () => Promise<unknown>, slow?: (() => Promise<unknown>)[]): () => void;
  cluster(): ClusterAnswer | null;
}
/** Page of a table. `onTable` calls back whenever the facts were asked, and at once if known. */
interface TablePage extends Page {
  table: string;
  info(): TableAnswer | null;
  findings(): Finding[];
  onTable(work: (info: TableAnswer) => void): void;
  onFindings(work: (findings: Finding[]) => void): void;
}
type Child = Node | string | number | null | undefined | false;
type Children = Child | Child[];
interface Column<R> {
  id: string;
  name: string;
  /** Width of a grid track. */
  width: string;
  right?: boolean;
  /** Figure to sort by; absent for columns that do not sort. */
  sort?: string | null;
  /** Width of the window below which the column is left out. */
  from?: number;
  cell(row: R): Children;
}
interface GridOptions<R> {
  label: string;
  columns: Column<R>[];
  /** Figure, with - before it for falling. */
  sort: string;
  onSort(sort: string): void;
  onOpen(row: R, index: number): void;
  /** Rows in view are not known. */
  onNeed?(first: number, last: number): void;
  /** Row on a phone. */
  card?(row: R): Children;
  rowClass?(row: R): string;
  rowHeight?: number;
  signal: AbortSignal;
}
type Params = Record<string, string | number | boolean | null | undefined>;
/** Red, green, blue. */
type Color = [number, number, number];
