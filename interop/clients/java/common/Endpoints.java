import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Mutation;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;

/** Calls of services that run beside a region: changes of several rows at once, and aggregates. */
final class Endpoints {
  private static final byte[] N = Fixture.b("n");

  private Endpoints() {
  }

  static void run(Fixture fixture) throws Exception {
    Transcript out = fixture.out;
    try (Table table = fixture.table("endpoint", "m")) {
      out.run("rows at once", () -> Versioned.mutateRows(table, Fixture.b("a"), put("a", 5), put("b", -3), put("c", 40)));
      out.run("rows at once, with a delete", () -> {
        Mutation[] changes = {new Delete(Fixture.b("c")).addColumns(Fixture.F, N, 9), put("d", 8), put("e", 8)};
        Versioned.mutateRows(table, Fixture.b("a"), changes);
      });
      out.run("rows of two regions at once", () -> Versioned.mutateRows(table, Fixture.b("a"), put("a", 1000), put("z", 1000)));
      out.run("rows at once, one wrongly", () -> Versioned.mutateRows(table, Fixture.b("a"), put("a", 1000),
        new Put(Fixture.b("b")).addColumn(Fixture.b("nofamily"), N, 1, Fixture.b("v"))));
      fixture.scan("what there is", table, new Scan());
      table.put(put("x", 100));
      table.put(put("y", 2));
      Aggregates.run(fixture, table);
    }
    fixture.drop("endpoint");
  }

  private static Put put(String row, long value) {
    return new Put(Fixture.b(row)).addColumn(Fixture.F, N, 1, Bytes.toBytes(value));
  }
}
