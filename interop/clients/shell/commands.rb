# What people type into the shell, one statement a line. A line that begins with # says what it is about.
# tables
create 'sh_plain', 'f'
create 'sh_rich', {NAME => 'f', VERSIONS => 5, BLOOMFILTER => 'ROWCOL', COMPRESSION => 'NONE', BLOCKSIZE => 8192}, {NAME => 'g', IN_MEMORY => true, KEEP_DELETED_CELLS => true, MIN_VERSIONS => 1}, {NAME => 'h', TTL => 86400}, {SPLITS => ['b', 'm', 'x'], MAX_FILESIZE => '134217728', METADATA => {'made.for' => 'a test'}}
create 'sh_hex', 'f', {NUMREGIONS => 4, SPLITALGO => 'HexStringSplit'}
create 'sh_plain', 'f'
create 'sh_none'
create 'sh_wrong', {NAME => 'f', VERSIONS => 0}
create 'sh nosuchname', 'f'
list 'sh_.*'
exists 'sh_plain'
exists 'sh_absent'
describe 'sh_plain'
describe 'sh_rich'
desc 'sh_absent'
is_enabled 'sh_plain'
is_disabled 'sh_plain'
get_splits 'sh_rich'
get_splits 'sh_hex'
list_regions 'sh_rich', '', ['START_KEY', 'END_KEY']
locate_region 'sh_rich', 'n'
# put and get
put 'sh_rich', 'a', 'f:q', 'one', 1
put 'sh_rich', 'a', 'f:q', 'two', 2
put 'sh_rich', 'a', 'f:q', 'three', 3
put 'sh_rich', 'a', 'g:x', 'gx', 1
put 'sh_rich', 'c', 'f:q', 'with a time to live', 5, {TTL => 86400000}
put 'sh_rich', 'n', 'f:', 'no qualifier', 7
put 'sh_rich', "z\x00\xff", 'g:y', "bytes \x00\x01", 7
put 'sh_rich', 'now', 'f:q', 'server time'
put 'sh_rich', 'a', 'nofamily:q', 'v'
put 'sh_absent', 'a', 'f:q', 'v'
get 'sh_rich', 'a'
get 'sh_rich', 'a', 'f'
get 'sh_rich', 'a', 'f:q', 'g:x'
get 'sh_rich', 'a', ['f:q', 'g']
get 'sh_rich', 'a', {COLUMN => 'f:q', VERSIONS => 3}
get 'sh_rich', 'a', {COLUMN => 'f:q', TIMESTAMP => 2}
get 'sh_rich', 'a', {COLUMN => 'f:q', TIMERANGE => [1, 3], VERSIONS => 4}
get 'sh_rich', 'a', {FILTER => "ValueFilter(=, 'binary:gx')"}
get 'sh_rich', 'a', {COLUMN => 'f:q:toString'}
get 'sh_rich', 'now'
get 'sh_rich', 'nothing'
get 'sh_rich', 'a', 'nofamily'
get 'sh_rich', "z\x00\xff"
# scan
scan 'sh_rich'
scan 'sh_rich', {COLUMNS => ['f:q'], VERSIONS => 3}
scan 'sh_rich', {STARTROW => 'b', STOPROW => 'o'}
scan 'sh_rich', {LIMIT => 2}
scan 'sh_rich', {REVERSED => true, LIMIT => 3}
scan 'sh_rich', {ROWPREFIXFILTER => 'n'}
scan 'sh_rich', {FILTER => "PrefixFilter('a') AND QualifierFilter(=, 'binary:q')"}
scan 'sh_rich', {FILTER => "(RowFilter(>=, 'binary:c') AND FamilyFilter(=, 'binary:f')) OR ValueFilter(=, 'substring:GX')"}
scan 'sh_rich', {FILTER => org.apache.hadoop.hbase.filter.KeyOnlyFilter.new()}
scan 'sh_rich', {FILTER => "NoSuchFilter('a')"}
scan 'sh_rich', {TIMERANGE => [2, 6]}
scan 'sh_rich', {TIMESTAMP => 7}
scan 'sh_rich', {RAW => true, VERSIONS => 10}
scan 'sh_rich', {BATCH => 1, MAXLENGTH => 10}
scan 'sh_rich', {CACHE_BLOCKS => false, CACHE => 1, COLUMNS => 'g'}
scan 'sh_rich', {STARTROW => 'a', LIMIT => 1, FORMATTER => 'toHex', COLUMNS => 'g:x'}
scan 'sh_rich', {ALL_METRICS => true, LIMIT => 1}
scan 'sh_absent'
count 'sh_rich'
count 'sh_rich', INTERVAL => 2
count 'sh_rich', {CACHE => 1, FILTER => "PrefixFilter('n')"}
# counters
incr 'sh_plain', 'r', 'f:n'
incr 'sh_plain', 'r', 'f:n', 41
incr 'sh_plain', 'r', 'f:n', -2
get_counter 'sh_plain', 'r', 'f:n'
get_counter 'sh_plain', 'r', 'f:none'
append 'sh_plain', 'r', 'f:log', 'ab'
append 'sh_plain', 'r', 'f:log', 'cd'
incr 'sh_plain', 'r', 'f:log'
get 'sh_plain', 'r', 'f:log'
# delete
put 'sh_plain', 'd', 'f:a', '1', 10
put 'sh_plain', 'd', 'f:b', '2', 10
put 'sh_plain', 'd', 'f:c', '3', 10
delete 'sh_plain', 'd', 'f:a', 10
delete 'sh_plain', 'd', 'f:b'
delete 'sh_plain', 'd', 'f:never'
get 'sh_plain', 'd'
deleteall 'sh_plain', 'd', 'f:c'
deleteall 'sh_plain', 'r'
count 'sh_plain'
put 'sh_plain', 'p1', 'f:a', '1', 10
put 'sh_plain', 'p2', 'f:a', '1', 10
put 'sh_plain', 'q1', 'f:a', '1', 10
deleteall 'sh_plain', {ROWPREFIXFILTER => 'p'}
scan 'sh_plain'
scan 'sh_plain', {RAW => true, VERSIONS => 1, STARTROW => 'd', STOPROW => 'p'}
# alter
alter 'sh_plain', {NAME => 'f', VERSIONS => 3}, {NAME => 'g'}, {NAME => 'h', TTL => 100}, {MAX_FILESIZE => '268435456', READONLY => false}
alter 'sh_plain', 'delete' => 'h'
alter 'sh_plain', CONFIGURATION => {'hbase.hregion.memstore.block.multiplier' => '6'}
alter 'sh_plain', METHOD => 'table_att_unset', NAME => 'MAX_FILESIZE'
alter_status 'sh_plain'
describe 'sh_plain'
# states
disable 'sh_plain'
is_enabled 'sh_plain'
get 'sh_plain', 'q1'
put 'sh_plain', 'q1', 'f:a', 'v'
enable 'sh_plain'
get 'sh_plain', 'q1'
drop 'sh_plain'
truncate 'sh_plain'
scan 'sh_plain'
truncate_preserve 'sh_rich'
get_splits 'sh_rich'
count 'sh_rich'
# regions
put 'sh_hex', 'a0000000', 'f:q', 'v'
put 'sh_hex', '10000000', 'f:q', 'v'
flush 'sh_hex'
compact 'sh_hex'
major_compact 'sh_hex', 'f'
split 'sh_hex', 'a0000000'
sleep 2
get_splits 'sh_hex'
count 'sh_hex'
# namespaces
create_namespace 'sh_ns', {'k' => 'v'}
create_namespace 'sh_ns'
describe_namespace 'sh_ns'
alter_namespace 'sh_ns', {METHOD => 'set', 'k' => 'w', 'l' => 'x'}
alter_namespace 'sh_ns', {METHOD => 'unset', NAME => 'k'}
describe_namespace 'sh_ns'
create 'sh_ns:t', 'f'
put 'sh_ns:t', 'r', 'f:q', 'v', 1
scan 'sh_ns:t'
list_namespace_tables 'sh_ns'
list_namespace 'sh_.*'
list 'sh_ns:.*'
drop_namespace 'sh_ns'
disable 'sh_ns:t'
drop 'sh_ns:t'
drop_namespace 'sh_ns'
drop_namespace 'sh_ns'
# snapshots
put 'sh_rich', 'kept', 'f:q', 'v', 1
snapshot 'sh_rich', 'sh_snap'
snapshot 'sh_rich', 'sh_snap'
list_snapshots 'sh_.*'
put 'sh_rich', 'later', 'f:q', 'v', 1
clone_snapshot 'sh_snap', 'sh_copy'
scan 'sh_copy'
get_splits 'sh_copy'
disable 'sh_rich'
restore_snapshot 'sh_snap'
enable 'sh_rich'
scan 'sh_rich'
list_table_snapshots 'sh_rich'
delete_snapshot 'sh_snap'
delete_snapshot 'sh_snap'
delete_all_snapshot 'sh_none.*'
# the cluster
status
balancer_enabled
is_in_maintenance_mode
catalogjanitor_enabled
normalizer_enabled
splitormerge_enabled 'SPLIT'
list_quotas
list_peers
list_deadservers
# table objects
t = get_table 'sh_plain'
u = t.put 'object', 'f:q', 'v', 1
t.scan
t.get 'object'
t.count
# the end
disable 'sh_plain'
drop 'sh_plain'
disable 'sh_rich'
drop 'sh_rich'
disable 'sh_hex'
drop 'sh_hex'
disable 'sh_copy'
drop 'sh_copy'
list 'sh_.*'
