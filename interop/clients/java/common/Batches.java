import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.hbase.client.Append;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Increment;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;

/** Lists of operations in one call: all kinds, over regions, with some that cannot be done, and several changes of one row. */
final class Batches {
  private static final byte[] Q = Fixture.b("q");

  private Batches() {
  }

  static void run(Fixture fixture) throws Exception {
    try (Table table = fixture.table("batch", "h", "p")) {
      Transcript out = fixture.out;
      out.run("fill", () -> {
        for (String row : List.of("a", "b", "h", "i", "p", "z")) {
          table.put(new Put(Fixture.b(row)).addColumn(Fixture.F, Q, 1, Fixture.b("old " + row)).addColumn(Fixture.F, Fixture.b("n"), 1, Bytes.toBytes(5L)));
        }
      });
      mixed(out, table);
      failing(out, table);
      oneRow(out, table);
      many(out, table);
      fixture.scan("all", table, new Scan().withStopRow(Fixture.b("zz")));
    }
    fixture.drop("batch");
  }

  private static void mixed(Transcript out, Table table) throws Exception {
    List<Row> actions = new ArrayList<>();
    actions.add(new Get(Fixture.b("z")));
    actions.add(new Put(Fixture.b("b")).addColumn(Fixture.F, Q, 2, Fixture.b("new b")));
    actions.add(new Increment(Fixture.b("p")).addColumn(Fixture.F, Fixture.b("n"), 7));
    actions.add(new Delete(Fixture.b("a")).addColumns(Fixture.F, Q, 9));
    actions.add(new Append(Fixture.b("i")).addColumn(Fixture.F, Q, Fixture.b(" and more")));
    actions.add(new Get(Fixture.b("none")));
    actions.add(new Append(Fixture.b("h")).addColumn(Fixture.G, Q, Fixture.b("quiet")).setReturnResults(false));
    actions.add(new Increment(Fixture.b("h")).addColumn(Fixture.G, Fixture.b("n"), 1).setReturnResults(false));
    batch(out, table, "mixed", actions);
    out.call("afterwards", () -> Fixture.all(table, new Scan().addColumn(Fixture.F, Q)));
  }

  private static void failing(Transcript out, Table table) throws Exception {
    List<Row> actions = new ArrayList<>();
    actions.add(new Put(Fixture.b("a")).addColumn(Fixture.F, Fixture.b("ok"), 3, Fixture.b("v")));
    actions.add(new Put(Fixture.b("a")).addColumn(Fixture.b("nofamily"), Q, Fixture.b("v")));
    actions.add(new Get(Fixture.b("i")).addFamily(Fixture.b("nofamily")));
    actions.add(new Get(Fixture.b("i")).addColumn(Fixture.F, Fixture.b("n")));
    actions.add(new Increment(Fixture.b("i")).addColumn(Fixture.F, Q, 1));
    actions.add(new Delete(Fixture.b("z")).addFamily(Fixture.b("nofamily")));
    actions.add(new Delete(Fixture.b("z")).addColumns(Fixture.F, Fixture.b("n"), 9));
    batch(out, table, "with some that fail", actions);
    out.run("puts, one of which fails", () -> table.put(List.of(
      new Put(Fixture.b("b")).addColumn(Fixture.F, Fixture.b("ok"), 3, Fixture.b("v")),
      new Put(Fixture.b("c")).addColumn(Fixture.b("nofamily"), Q, Fixture.b("v")))));
    out.call("gets, one of which fails", () -> table.get(List.of(new Get(Fixture.b("b")), new Get(Fixture.b("b")).addFamily(Fixture.b("nofamily")))));
    out.run("empty", () -> table.batch(new ArrayList<>(), new Object[0]));
  }

  private static void oneRow(Transcript out, Table table) throws Exception {
    byte[] row = Fixture.b("k");
    RowMutations changes = new RowMutations(row);
    changes.add(new Put(row).addColumn(Fixture.F, Q, 1, Fixture.b("one")).addColumn(Fixture.G, Q, 1, Fixture.b("two")));
    changes.add(new Delete(row).addColumns(Fixture.F, Fixture.b("absent"), 1));
    out.call("change a row", () -> table.mutateRow(changes));
    RowMutations counting = new RowMutations(row);
    counting.add(new Put(row).addColumn(Fixture.F, Q, 2, Fixture.b("later")));
    counting.add(new Increment(row).addColumn(Fixture.F, Fixture.b("n"), 3));
    counting.add(new Append(row).addColumn(Fixture.G, Fixture.b("log"), Fixture.b("x")));
    out.call("change a row and count in it", () -> table.mutateRow(counting));
    RowMutations broken = new RowMutations(row);
    broken.add(new Put(row).addColumn(Fixture.F, Fixture.b("lost"), 1, Fixture.b("v")));
    broken.add(new Put(row).addColumn(Fixture.b("nofamily"), Q, 1, Fixture.b("v")));
    out.call("change a row, half of it wrongly", () -> table.mutateRow(broken));
    out.call("the row", () -> table.get(new Get(row)));
    batch(out, table, "changes of rows among others", List.of(new Get(Fixture.b("b")), counting, new Put(Fixture.b("y")).addColumn(Fixture.F, Q, 1, Fixture.b("y")),
      changes));
    batch(out, table, "a broken change among others", List.of(broken, new Get(row).addColumn(Fixture.F, Fixture.b("lost"))));
  }

  private static void many(Transcript out, Table table) throws Exception {
    List<Row> puts = new ArrayList<>();
    for (int number = 0; number < 3000; number++) {
      puts.add(new Put(Fixture.b("zz" + number)).addColumn(Fixture.F, Q, 1, new byte[number % 100]));
    }
    Object[] results = new Object[puts.size()];
    out.run("3000 puts", () -> table.batch(puts, results));
    out.call("how they ended", () -> {
      Map<String, Integer> ends = new TreeMap<>();
      Arrays.stream(results).forEach(result -> ends.merge(Transcript.show(result), 1, Integer::sum));
      return ends;
    });
    out.call("3000 gets", () -> Arrays.stream(table.get(puts.stream().map(put -> new Get(put.getRow())).toList()))
      .mapToInt(result -> result.value().length).sum());
  }

  private static void batch(Transcript out, Table table, String what, List<? extends Row> actions) throws Exception {
    Object[] results = new Object[actions.size()];
    out.run(what, () -> table.batch(actions, results));
    for (Object result : results) {
      out.line("  " + Transcript.show(result));
    }
  }
}
