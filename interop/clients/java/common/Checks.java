import java.util.List;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.client.Append;
import org.apache.hadoop.hbase.client.CheckAndMutate;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Increment;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.filter.FilterList;
import org.apache.hadoop.hbase.filter.PrefixFilter;
import org.apache.hadoop.hbase.filter.SingleColumnValueFilter;
import org.apache.hadoop.hbase.io.TimeRange;

/** Changes that happen only if the row is as it should be. */
final class Checks {
  private static final byte[] ROW = Fixture.b("r");
  private static final byte[] Q = Fixture.b("q");
  private static final byte[] D = Fixture.b("done");

  private Checks() {
  }

  static void run(Fixture fixture) throws Exception {
    try (Table table = fixture.table("check", "m")) {
      Transcript out = fixture.out;
      out.run("fill", () -> table.put(new Put(ROW).addColumn(Fixture.F, Q, 10, Fixture.b("m")).addColumn(Fixture.F, Fixture.b("empty"), 10, new byte[0])
        .addColumn(Fixture.F, Fixture.b("n"), 10, org.apache.hadoop.hbase.util.Bytes.toBytes(1L))));
      comparisons(out, table);
      absence(out, table);
      kinds(out, table);
      conditions(out, table);
      wrong(out, table);
      several(out, table);
      out.call("the row", () -> table.get(new Get(ROW)));
    }
    fixture.drop("check");
  }

  private static Put put(String value) {
    return new Put(ROW).addColumn(Fixture.F, D, 20, Fixture.b(value));
  }

  private static CheckAndMutate.Builder when() {
    return CheckAndMutate.newBuilder(ROW);
  }

  private static void comparisons(Transcript out, Table table) {
    for (CompareOperator operator : CompareOperator.values()) {
      for (String value : List.of("a", "m", "z")) {
        out.call(value + " " + operator + " the cell", () -> table.checkAndMutate(when().ifMatches(Fixture.F, Q, operator, Fixture.b(value)).build(put("v"))));
      }
    }
    out.call("equals", () -> table.checkAndMutate(when().ifEquals(Fixture.F, Q, Fixture.b("m")).build(put("v"))));
    out.call("equals, otherwise", () -> table.checkAndMutate(when().ifEquals(Fixture.F, Q, Fixture.b("mm")).build(put("v"))));
  }

  private static void absence(Transcript out, Table table) {
    byte[] none = Fixture.b("none");
    out.call("not there", () -> table.checkAndMutate(when().ifNotExists(Fixture.F, none).build(put("v"))));
    out.call("not there, but is", () -> table.checkAndMutate(when().ifNotExists(Fixture.F, Q).build(put("v"))));
    out.call("not there, but is empty", () -> table.checkAndMutate(when().ifNotExists(Fixture.F, Fixture.b("empty")).build(put("v"))));
    out.call("equals nothing", () -> table.checkAndMutate(when().ifMatches(Fixture.F, none, CompareOperator.EQUAL, null).build(put("v"))));
    out.call("equals empty", () -> table.checkAndMutate(when().ifMatches(Fixture.F, none, CompareOperator.EQUAL, new byte[0]).build(put("v"))));
    out.call("equals empty, and is", () -> table.checkAndMutate(when().ifEquals(Fixture.F, Fixture.b("empty"), new byte[0]).build(put("v"))));
    out.call("differs from nothing", () -> table.checkAndMutate(when().ifMatches(Fixture.F, Q, CompareOperator.NOT_EQUAL, null).build(put("v"))));
    out.call("differs, but is not there", () -> table.checkAndMutate(when().ifMatches(Fixture.F, none, CompareOperator.NOT_EQUAL, Fixture.b("x")).build(put("v"))));
    out.call("a row that is not there", () -> table.checkAndMutate(CheckAndMutate.newBuilder(Fixture.b("new")).ifNotExists(Fixture.F, Q)
      .build(new Put(Fixture.b("new")).addColumn(Fixture.F, Q, 1, Fixture.b("v")))));
  }

  private static void kinds(Transcript out, Table table) throws Exception {
    CheckAndMutate.Builder holds = when().ifEquals(Fixture.F, Q, Fixture.b("m"));
    CheckAndMutate.Builder fails = when().ifEquals(Fixture.F, Q, Fixture.b("x"));
    out.call("delete", () -> table.checkAndMutate(holds.build(new Delete(ROW).addColumns(Fixture.F, D, 99))));
    out.call("increment", () -> table.checkAndMutate(holds.build(new Increment(ROW).addColumn(Fixture.F, Fixture.b("n"), 4))));
    out.call("increment, not", () -> table.checkAndMutate(fails.build(new Increment(ROW).addColumn(Fixture.F, Fixture.b("n"), 4))));
    out.call("append", () -> table.checkAndMutate(holds.build(new Append(ROW).addColumn(Fixture.G, Q, Fixture.b("ab")))));
    out.call("append, not", () -> table.checkAndMutate(fails.build(new Append(ROW).addColumn(Fixture.G, Q, Fixture.b("ab")))));
    RowMutations changes = new RowMutations(ROW);
    changes.add(new Put(ROW).addColumn(Fixture.G, Fixture.b("one"), 5, Fixture.b("v")));
    changes.add(new Delete(ROW).addColumns(Fixture.F, Fixture.b("empty"), 99));
    changes.add(new Increment(ROW).addColumn(Fixture.F, Fixture.b("n"), 10));
    changes.add(new Append(ROW).addColumn(Fixture.G, Q, Fixture.b("cd")));
    out.call("several changes", () -> table.checkAndMutate(holds.build(changes)));
    out.call("several changes, not", () -> table.checkAndMutate(fails.build(changes)));
  }

  private static void conditions(Transcript out, Table table) {
    SingleColumnValueFilter is = new SingleColumnValueFilter(Fixture.F, Q, CompareOperator.EQUAL, Fixture.b("m"));
    SingleColumnValueFilter not = new SingleColumnValueFilter(Fixture.F, Q, CompareOperator.NOT_EQUAL, Fixture.b("m"));
    out.call("by filter", () -> table.checkAndMutate(when().ifMatches(is).build(put("filter"))));
    out.call("by filter, not", () -> table.checkAndMutate(when().ifMatches(not).build(put("no"))));
    out.call("by two filters", () -> table.checkAndMutate(when().ifMatches(new FilterList(is, new PrefixFilter(ROW))).build(put("both"))));
    out.call("by one of two filters", () -> table.checkAndMutate(when().ifMatches(new FilterList(FilterList.Operator.MUST_PASS_ONE, not, is)).build(put("one"))));
    out.call("in time", () -> table.checkAndMutate(when().ifEquals(Fixture.F, Q, Fixture.b("m")).timeRange(TimeRange.between(5, 15)).build(put("t"))));
    out.call("out of time", () -> table.checkAndMutate(when().ifEquals(Fixture.F, Q, Fixture.b("m")).timeRange(TimeRange.between(11, 15)).build(put("t"))));
    out.call("by filter, out of time", () -> table.checkAndMutate(when().ifMatches(is).timeRange(TimeRange.between(11, 15)).build(put("t"))));
  }

  private static void wrong(Transcript out, Table table) {
    out.call("another row", () -> table.checkAndMutate(when().ifEquals(Fixture.F, Q, Fixture.b("m")).build(new Put(Fixture.b("other"))
      .addColumn(Fixture.F, Q, Fixture.b("v")))));
    out.call("family that is not there", () -> table.checkAndMutate(when().ifEquals(Fixture.b("nofamily"), Q, Fixture.b("m")).build(put("v"))));
    out.call("change of a family that is not there", () -> table.checkAndMutate(when().ifEquals(Fixture.F, Q, Fixture.b("m"))
      .build(new Put(ROW).addColumn(Fixture.b("nofamily"), Q, Fixture.b("v")))));
    out.call("count what is no number", () -> table.checkAndMutate(when().ifEquals(Fixture.F, Q, Fixture.b("m")).build(new Increment(ROW).addColumn(Fixture.F, Q, 1))));
  }

  private static void several(Transcript out, Table table) {
    out.call("a list", () -> table.checkAndMutate(List.of(
      when().ifEquals(Fixture.F, Q, Fixture.b("m")).build(put("list")),
      CheckAndMutate.newBuilder(Fixture.b("a")).ifNotExists(Fixture.F, Q).build(new Put(Fixture.b("a")).addColumn(Fixture.F, Q, 1, Fixture.b("v"))),
      CheckAndMutate.newBuilder(Fixture.b("b")).ifEquals(Fixture.F, Q, Fixture.b("x")).build(new Delete(Fixture.b("b"))),
      when().ifEquals(Fixture.F, Q, Fixture.b("m")).build(new Increment(ROW).addColumn(Fixture.F, Fixture.b("n"), 100)))));
    out.call("in a batch", () -> {
      Object[] results = new Object[3];
      table.batch(List.of(new Get(Fixture.b("a")), when().ifEquals(Fixture.F, Q, Fixture.b("m")).build(put("batch")),
        CheckAndMutate.newBuilder(Fixture.b("z")).ifEquals(Fixture.F, Q, Fixture.b("x")).build(new Delete(Fixture.b("z")))), results);
      return results;
    });
  }
}
