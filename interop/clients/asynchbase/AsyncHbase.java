import com.stumbleupon.async.Deferred;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.hbase.async.AppendRequest;
import org.hbase.async.AtomicIncrementRequest;
import org.hbase.async.BinaryComparator;
import org.hbase.async.BinaryPrefixComparator;
import org.hbase.async.Bytes;
import org.hbase.async.ColumnPaginationFilter;
import org.hbase.async.ColumnPrefixFilter;
import org.hbase.async.ColumnRangeFilter;
import org.hbase.async.CompareFilter;
import org.hbase.async.Config;
import org.hbase.async.DeleteRequest;
import org.hbase.async.FilterList;
import org.hbase.async.FirstKeyOnlyFilter;
import org.hbase.async.FuzzyRowFilter;
import org.hbase.async.GetRequest;
import org.hbase.async.GetResultOrException;
import org.hbase.async.HBaseClient;
import org.hbase.async.KeyOnlyFilter;
import org.hbase.async.KeyRegexpFilter;
import org.hbase.async.KeyValue;
import org.hbase.async.PutRequest;
import org.hbase.async.QualifierFilter;
import org.hbase.async.RegexStringComparator;
import org.hbase.async.RowFilter;
import org.hbase.async.ScanFilter;
import org.hbase.async.Scanner;
import org.hbase.async.SubstringComparator;
import org.hbase.async.TimestampsFilter;
import org.hbase.async.ValueFilter;

/**
 * Uses a server through asynchbase, and writes what happened to a file.
 * Arguments: the port of the server's ZooKeeper, the file, and a table with the families `f` and `g` (asynchbase makes none).
 */
public final class AsyncHbase {
  private static final long SERVER_TIME_MIN = 1_000_000_000_000L;
  private static final long WAIT_MS_MAX = 60_000;
  private final HBaseClient client;
  private final PrintStream out;
  private final byte[] table;

  private AsyncHbase(HBaseClient client, PrintStream out, String table) {
    this.client = client;
    this.out = out;
    this.table = b(table);
  }

  public static void main(String[] arguments) throws Exception {
    Config settings = new Config();
    settings.overrideConfig("hbase.zookeeper.quorum", "127.0.0.1:" + arguments[0]);
    // What cannot work shall say so soon.
    settings.overrideConfig("hbase.client.retries.number", "3");
    HBaseClient client = new HBaseClient(settings);
    try (PrintStream out = new PrintStream(arguments[1], StandardCharsets.UTF_8)) {
      AsyncHbase program = new AsyncHbase(client, out, arguments[2]);
      program.ensure();
      program.puts();
      program.gets();
      program.changes();
      program.scans();
      program.filters();
      program.deletes();
      program.many();
    }
    client.shutdown().join(WAIT_MS_MAX);
    System.exit(0);
  }

  private static byte[] b(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  private void call(String what, Callable<?> work) {
    try {
      out.println(what + ": " + show(work.call()));
    } catch (Exception error) {
      out.println(what + ": throws " + error.getClass().getSimpleName());
    }
  }

  private void wait(String what, Callable<Deferred<?>> work) {
    call(what, () -> work.call().join(WAIT_MS_MAX));
  }

  private static String show(Object value) {
    if (value instanceof KeyValue cell) {
      String time = cell.timestamp() >= SERVER_TIME_MIN ? "now" : Long.toString(cell.timestamp());
      return Bytes.pretty(cell.key()) + " " + Bytes.pretty(cell.family()) + ":" + Bytes.pretty(cell.qualifier()) + "@" + time + "=" + Bytes.pretty(cell.value());
    } else if (value instanceof List<?> list) {
      return list.stream().map(AsyncHbase::show).toList().toString();
    } else if (value instanceof GetResultOrException result) {
      return result.getException() == null ? show(result.getCells()) : "throws " + result.getException().getClass().getSimpleName();
    } else if (value instanceof byte[] bytes) {
      return Bytes.pretty(bytes);
    }
    // What a deferred that only says it is done holds is asynchbase's own affair.
    return value instanceof Boolean || value instanceof Long ? value.toString() : "done";
  }

  private void ensure() {
    wait("ensure the table", () -> client.ensureTableExists(table));
    wait("ensure a family", () -> client.ensureTableFamilyExists(table, b("f")));
    wait("ensure a table that is not there", () -> client.ensureTableExists(b("as_absent")));
    wait("ensure a family that is not there", () -> client.ensureTableFamilyExists(table, b("nofamily")));
  }

  private void puts() {
    for (int version = 1; version <= 3; version++) {
      PutRequest put = new PutRequest(table, b("a"), b("f"), b("q"), b("v" + version), version * 10L);
      put.setBufferable(false);
      wait("put", () -> client.put(put));
    }
    wait("put several columns", () -> client.put(new PutRequest(table, b("b"), b("f"), new byte[][] {b("c1"), b("c2"), b("")}, new byte[][] {b("1"), b("2"), b("")}, 5)));
    wait("put bytes", () -> client.put(new PutRequest(table, new byte[] {'z', 0, -1}, b("g"), new byte[] {0}, new byte[] {-128}, 5)));
    wait("put without a time", () -> client.put(new PutRequest(table, b("now"), b("g"), b("q"), b("v"))));
    wait("put into a family that is not there", () -> client.put(new PutRequest(table, b("a"), b("nofamily"), b("q"), b("v"))));
    wait("flush", client::flush);
  }

  private void gets() {
    wait("get", () -> client.get(new GetRequest(table, b("a"))));
    wait("get versions", () -> client.get(new GetRequest(table, b("a")).maxVersions(3)));
    wait("get in time", () -> {
      GetRequest get = new GetRequest(table, b("a"), b("f"), b("q"));
      get.setTimeRange(10, 21);
      return client.get(get);
    });
    wait("get columns", () -> client.get(new GetRequest(table, b("b"), b("f")).qualifiers(new byte[][] {b("c2"), b("none")})));
    wait("get filtered", () -> {
      GetRequest get = new GetRequest(table, b("b"));
      get.setFilter(new ColumnPrefixFilter("c1"));
      return client.get(get);
    });
    wait("get nothing", () -> client.get(new GetRequest(table, b("nothing"))));
    wait("get bytes", () -> client.get(new GetRequest(table, new byte[] {'z', 0, -1})));
    wait("get now", () -> client.get(new GetRequest(table, b("now"))));
    wait("get from a table that is not there", () -> client.get(new GetRequest(b("as_absent"), b("a"))));
    wait("several gets", () -> client.get(List.of(new GetRequest(table, b("b"), b("f"), b("c1")), new GetRequest(table, b("z")),
      new GetRequest(table, b("a"), b("f"), b("q")))));
  }

  private void changes() {
    wait("count", () -> client.atomicIncrement(new AtomicIncrementRequest(table, b("n"), b("f"), b("n"), 5)));
    wait("count down", () -> client.atomicIncrement(new AtomicIncrementRequest(table, b("n"), b("f"), b("n"), -7), true));
    wait("count gathered", () -> client.bufferAtomicIncrement(new AtomicIncrementRequest(table, b("n"), b("f"), b("n"), 3)));
    wait("count what is no number", () -> client.atomicIncrement(new AtomicIncrementRequest(table, b("a"), b("f"), b("q"), 1)));
    wait("append", () -> client.append(new AppendRequest(table, b("app"), b("f"), b("q"), b("ab"))));
    wait("append more", () -> client.append(new AppendRequest(table, b("app"), b("f"), b("q"), b("cd"))));
    wait("appended", () -> client.get(new GetRequest(table, b("app"))));
    wait("set if it is", () -> client.compareAndSet(new PutRequest(table, b("a"), b("f"), b("q"), b("v4"), 40), b("v3")));
    wait("set if it is, not", () -> client.compareAndSet(new PutRequest(table, b("a"), b("f"), b("q"), b("v5"), 50), b("v3")));
    wait("create", () -> client.atomicCreate(new PutRequest(table, b("cas"), b("f"), b("q"), b("first"), 1)));
    wait("create again", () -> client.atomicCreate(new PutRequest(table, b("cas"), b("f"), b("q"), b("second"), 2)));
    wait("what there is", () -> client.get(new GetRequest(table, b("cas"))));
  }

  /** Settings of a scanner. */
  private interface Settings {
    void apply(Scanner scanner);
  }

  private void scan(String what, Settings settings) {
    call("scan " + what, () -> {
      Scanner scanner = client.newScanner(table);
      settings.apply(scanner);
      List<List<KeyValue>> rows = new ArrayList<>();
      for (ArrayList<ArrayList<KeyValue>> more = scanner.nextRows().join(WAIT_MS_MAX); more != null; more = scanner.nextRows().join(WAIT_MS_MAX)) {
        rows.addAll(more);
      }
      scanner.close().join(WAIT_MS_MAX);
      rows.forEach(row -> out.println("  " + show(row)));
      return (long) rows.size();
    });
  }

  private void scans() {
    scan("all", scanner -> {
    });
    scan("a to c", scanner -> {
      scanner.setStartKey(b("a"));
      scanner.setStopKey(b("c"));
    });
    scan("a family, a row at a time", scanner -> {
      scanner.setFamily(b("f"));
      scanner.setMaxNumRows(1);
    });
    scan("two cells at a time", scanner -> {
      scanner.setMaxNumKeyValues(2);
      scanner.setStopKey(b("c"));
    });
    scan("versions in time", scanner -> {
      scanner.setMaxVersions(5);
      scanner.setTimeRange(10, 31);
    });
    scan("backwards", scanner -> {
      scanner.setReversed(true);
      scanner.setFamily(b("f"));
    });
    scan("a family that is not there", scanner -> scanner.setFamily(b("nofamily")));
  }

  private void filters() {
    filter("rows", new RowFilter(CompareFilter.CompareOp.GREATER_OR_EQUAL, new BinaryComparator(b("cas"))));
    filter("row by pattern", new KeyRegexpFilter("^(a|n)$"));
    filter("row by regex", new RowFilter(CompareFilter.CompareOp.EQUAL, new RegexStringComparator("^c")));
    filter("fuzzy", new FuzzyRowFilter(new FuzzyRowFilter.FuzzyFilterPair(b("?as"), new byte[] {1, 0, 0})));
    filter("value", new ValueFilter(CompareFilter.CompareOp.EQUAL, new SubstringComparator("v")));
    filter("qualifier", new QualifierFilter(CompareFilter.CompareOp.EQUAL, new BinaryPrefixComparator(b("c"))));
    filter("columns", new ColumnRangeFilter("c1", true, "c2", false));
    filter("pages of columns", new ColumnPaginationFilter(1, 1));
    filter("times", new TimestampsFilter(5L, 40L));
    filter("keys", new FilterList(List.of(new FirstKeyOnlyFilter(), new KeyOnlyFilter())));
    filter("one of two", new FilterList(List.of(new ColumnPrefixFilter("c1"), new ColumnPrefixFilter("q")), FilterList.Operator.MUST_PASS_ONE));
  }

  private void filter(String what, ScanFilter filter) {
    scan("filtered by " + what, scanner -> scanner.setFilter(filter));
  }

  private void deletes() {
    wait("delete a column", () -> client.delete(new DeleteRequest(table, b("b"), b("f"), b("c1"))));
    wait("delete a version", () -> {
      DeleteRequest delete = new DeleteRequest(table, b("a"), b("f"), b("q"), 30);
      delete.setDeleteAtTimestampOnly(true);
      return client.delete(delete);
    });
    wait("delete a family", () -> client.delete(new DeleteRequest(table, b("now"), b("g"))));
    wait("delete a row", () -> client.delete(new DeleteRequest(table, b("cas"))));
    scan("what is left", scanner -> scanner.setMaxVersions(9));
  }

  private void many() throws Exception {
    List<Deferred<Object>> puts = new ArrayList<>();
    for (int number = 0; number < 2000; number++) {
      puts.add(client.put(new PutRequest(table, b(String.format("%c%04d", 'a' + number % 26, number)), b("g"), b("m"), b("v" + number), 1)));
    }
    call("2000 puts", () -> (long) Deferred.group(puts).join(WAIT_MS_MAX).size());
    call("how many are there", () -> {
      Scanner scanner = client.newScanner(table);
      scanner.setFamily(b("g"));
      scanner.setQualifier(b("m"));
      long rows = 0;
      for (var more = scanner.nextRows(300).join(WAIT_MS_MAX); more != null; more = scanner.nextRows(300).join(WAIT_MS_MAX)) {
        rows += more.size();
      }
      return rows;
    });
  }
}
