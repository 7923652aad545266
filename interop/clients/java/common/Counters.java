import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.TreeSet;
import org.apache.hadoop.hbase.client.Append;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Increment;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.io.TimeRange;
import org.apache.hadoop.hbase.util.Bytes;

/** Increments and appends, alone and by many at once. */
final class Counters {
  private static final byte[] ROW = Fixture.b("r");
  private static final byte[] N = Fixture.b("n");
  private static final int THREADS = 8;
  private static final int EACH = 50;

  private Counters() {
  }

  static void run(Fixture fixture) throws Exception {
    try (Table table = fixture.table("counter")) {
      increments(fixture.out, table);
      appends(fixture.out, table);
      atOnce(fixture, table);
    }
    fixture.drop("counter");
  }

  private static void increments(Transcript out, Table table) {
    out.call("from nothing", () -> table.increment(new Increment(ROW).addColumn(Fixture.F, N, 5)));
    out.call("by less than nothing", () -> table.increment(new Increment(ROW).addColumn(Fixture.F, N, -7)));
    out.call("by zero", () -> table.increment(new Increment(ROW).addColumn(Fixture.F, N, 0)));
    out.call("zero from nothing", () -> table.increment(new Increment(ROW).addColumn(Fixture.F, Fixture.b("zero"), 0)));
    out.call("several columns", () -> table.increment(new Increment(ROW).addColumn(Fixture.G, N, 2).addColumn(Fixture.F, Fixture.b("m"), 1)
      .addColumn(Fixture.F, N, 10)));
    out.call("the short way", () -> table.incrementColumnValue(ROW, Fixture.F, N, 3));
    out.call("over the end", () -> {
      table.put(new Put(Fixture.b("max")).addColumn(Fixture.F, N, 1, Bytes.toBytes(Long.MAX_VALUE)));
      return table.increment(new Increment(Fixture.b("max")).addColumn(Fixture.F, N, 1));
    });
    out.call("no result wanted", () -> table.increment(new Increment(ROW).addColumn(Fixture.F, N, 1).setReturnResults(false)));
    out.call("with a time of its own", () -> table.increment(new Increment(Fixture.b("timed")).addColumn(Fixture.F, N, 1).setTimestamp(77)));
    out.call("in a range where nothing is", () -> {
      table.put(new Put(Fixture.b("range")).addColumn(Fixture.F, N, 100, Bytes.toBytes(40L)));
      return table.increment(new Increment(Fixture.b("range")).addColumn(Fixture.F, N, 2).setTimeRange(200, 300));
    });
    out.call("what is no number", () -> {
      table.put(new Put(Fixture.b("text")).addColumn(Fixture.F, N, 1, Fixture.b("abc")));
      return table.increment(new Increment(Fixture.b("text")).addColumn(Fixture.F, N, 1));
    });
    out.call("what was deleted", () -> {
      table.put(new Put(Fixture.b("gone")).addColumn(Fixture.F, N, 1, Bytes.toBytes(9L)));
      table.delete(new Delete(Fixture.b("gone")).addColumns(Fixture.F, N, 1));
      return table.increment(new Increment(Fixture.b("gone")).addColumn(Fixture.F, N, 1));
    });
    out.call("a family that is not there", () -> table.increment(new Increment(ROW).addColumn(Fixture.b("nofamily"), N, 1)));
    out.call("nothing", () -> table.increment(new Increment(ROW)));
    out.call("the row", () -> table.get(new Get(ROW)));
  }

  private static void appends(Transcript out, Table table) {
    byte[] row = Fixture.b("append");
    out.call("append to nothing", () -> table.append(new Append(row).addColumn(Fixture.F, Fixture.b("q"), Fixture.b("a"))));
    out.call("append", () -> table.append(new Append(row).addColumn(Fixture.F, Fixture.b("q"), Fixture.b("b")).addColumn(Fixture.G, N, new byte[] {0})));
    out.call("append nothing", () -> table.append(new Append(row).addColumn(Fixture.F, Fixture.b("q"), new byte[0])));
    out.call("append unseen", () -> table.append(new Append(row).addColumn(Fixture.F, Fixture.b("q"), Fixture.b("c")).setReturnResults(false)));
    out.call("append in a range", () -> {
      // It does not see what is there, so in the millisecond of the append before it would take that one's place.
      Thread.sleep(2);
      return table.append(new Append(row).addColumn(Fixture.F, Fixture.b("q"), Fixture.b("d")).setTimeRange(1, 2));
    });
    out.call("appended", () -> table.get(new Get(row).readAllVersions()));
    out.line("a range is a range: " + TimeRange.between(1, 2));
  }

  private static void atOnce(Fixture fixture, Table table) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(THREADS);
    List<Callable<List<Long>>> work = new ArrayList<>();
    for (int thread = 0; thread < THREADS; thread++) {
      work.add(() -> {
        List<Long> seen = new ArrayList<>();
        try (Table own = fixture.connection.getTable(table.getName())) {
          for (int round = 0; round < EACH; round++) {
            seen.add(own.incrementColumnValue(Fixture.b("shared"), Fixture.F, N, 1));
            own.append(new Append(Fixture.b("shared")).addColumn(Fixture.F, Fixture.b("log"), Fixture.b("x")));
          }
        }
        return seen;
      });
    }
    TreeSet<Long> all = new TreeSet<>();
    for (Future<List<Long>> future : pool.invokeAll(work)) {
      all.addAll(future.get());
    }
    pool.shutdown();
    fixture.out.line(THREADS + " threads counted to " + all.last() + ", saw " + all.size() + " numbers from " + all.first());
    fixture.out.call("appended by all", () -> table.get(new Get(Fixture.b("shared")).addColumn(Fixture.F, Fixture.b("log"))).value().length);
  }
}
