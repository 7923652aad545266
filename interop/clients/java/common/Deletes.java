import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;

/** Every kind of delete, and what it leaves: at once, for a raw scan, and in a store file. */
final class Deletes {
  private static final byte[] Q = Fixture.b("q");
  private static final byte[] P = Fixture.b("p");

  private Deletes() {
  }

  static void run(Fixture fixture) throws Exception {
    try (Table table = fixture.table("delete")) {
      Transcript out = fixture.out;
      for (Map.Entry<String, UnaryOperator<Delete>> kind : kinds().entrySet()) {
        byte[] row = Fixture.b(kind.getKey());
        out.run("fill", () -> table.put(filling(row)));
        out.run("delete " + kind.getKey(), () -> table.delete(kind.getValue().apply(new Delete(row))));
        out.call("left", () -> table.get(new Get(row).readAllVersions()));
      }
      out.run("delete a row up to 20", () -> {
        table.put(filling(Fixture.b("up to")));
        table.delete(new Delete(Fixture.b("up to"), 20));
      });
      out.run("delete a row that is not there", () -> table.delete(new Delete(Fixture.b("none"))));
      hidden(out, table);
      list(out, table);
      fixture.scan("raw", table, new Scan().setRaw(true).readAllVersions());
      fixture.scan("raw, one version", table, new Scan().setRaw(true).withStartRow(Fixture.b("columns")).setLimit(2));
      out.run("flush", () -> {
        try (Admin admin = fixture.connection.getAdmin()) {
          admin.flush(table.getName());
        }
      });
      fixture.scan("after a flush", table, new Scan().readAllVersions());
    }
    fixture.drop("delete");
  }

  private static Map<String, UnaryOperator<Delete>> kinds() {
    Map<String, UnaryOperator<Delete>> kinds = new LinkedHashMap<>();
    kinds.put("row", delete -> delete);
    kinds.put("family", delete -> delete.addFamily(Fixture.F));
    kinds.put("family up to 20", delete -> delete.addFamily(Fixture.F, 20));
    kinds.put("family at 20", delete -> delete.addFamilyVersion(Fixture.F, 20));
    kinds.put("columns", delete -> delete.addColumns(Fixture.F, Q));
    kinds.put("columns up to 20", delete -> delete.addColumns(Fixture.F, Q, 20));
    kinds.put("newest of a column", delete -> delete.addColumn(Fixture.F, Q));
    kinds.put("column at 20", delete -> delete.addColumn(Fixture.F, Q, 20));
    kinds.put("column at 25, where nothing is", delete -> delete.addColumn(Fixture.F, Q, 25));
    kinds.put("several kinds at once", delete -> delete.addColumn(Fixture.F, Q, 30).addColumns(Fixture.F, P, 10).addFamilyVersion(Fixture.G, 10)
      .addFamily(Fixture.G, 5));
    return kinds;
  }

  private static List<Put> filling(byte[] row) {
    List<Put> puts = new ArrayList<>();
    for (int time = 10; time <= 30; time += 10) {
      puts.add(new Put(row, time).addColumn(Fixture.F, Q, Fixture.b("q" + time)).addColumn(Fixture.F, P, Fixture.b("p" + time))
        .addColumn(Fixture.G, Q, Fixture.b("g" + time)));
    }
    return puts;
  }

  /** What is put below a marker is hidden although it came later; what is put at once after a delete is not. */
  private static void hidden(Transcript out, Table table) {
    byte[] row = Fixture.b("hidden");
    out.run("put below a marker", () -> {
      table.delete(new Delete(row).addColumns(Fixture.F, Q, 50));
      table.put(new Put(row).addColumn(Fixture.F, Q, 40, Fixture.b("below")).addColumn(Fixture.F, Q, 60, Fixture.b("above")));
    });
    out.call("seen", () -> table.get(new Get(row).readAllVersions()));
    out.run("fall back to an older version", () -> {
      table.put(new Put(Fixture.b("back")).addColumn(Fixture.F, Q, 1, Fixture.b("old")).addColumn(Fixture.F, Q, 2, Fixture.b("new")));
      table.delete(new Delete(Fixture.b("back")).addColumn(Fixture.F, Q));
    });
    out.call("seen", () -> table.get(new Get(Fixture.b("back"))));
  }

  private static void list(Transcript out, Table table) {
    List<Delete> deletes = new ArrayList<>();
    out.run("put rows", () -> {
      for (int row = 0; row < 5; row++) {
        table.put(new Put(Fixture.b("list" + row)).addColumn(Fixture.F, Q, 1, Fixture.b("v")));
        deletes.add(new Delete(Fixture.b("list" + row), 1));
      }
    });
    deletes.remove(2);
    out.run("delete a list", () -> table.delete(deletes));
    out.line("not done of the list: " + deletes.size());
    out.call("left of the list", () -> Fixture.all(table, new Scan().withStartRow(Fixture.b("list")).withStopRow(Fixture.b("lisu"))));
  }
}
