import java.util.List;
import java.util.regex.Pattern;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.SnapshotDescription;
import org.apache.hadoop.hbase.client.Table;

/** A table's past, kept, copied and brought back. */
final class Snapshots {
  private static final String NAME = "jt_snapshot";

  private Snapshots() {
  }

  static void run(Fixture fixture) throws Exception {
    Transcript out = fixture.out;
    try (Table table = fixture.table("past", "m"); Admin admin = fixture.connection.getAdmin()) {
      for (String row : List.of("a", "b", "n", "z")) {
        table.put(new Put(Fixture.b(row)).addColumn(Fixture.F, Fixture.b("q"), 1, Fixture.b("first")));
      }
      out.run("take", () -> admin.snapshot(NAME, table.getName()));
      out.run("take it again", () -> admin.snapshot(NAME, table.getName()));
      out.run("take of a table that is not there", () -> admin.snapshot("jt_other", Fixture.name("absent")));
      out.call("list", () -> show(admin.listSnapshots(Pattern.compile("jt_.*"))));
      out.run("change the table", () -> {
        table.put(new Put(Fixture.b("c")).addColumn(Fixture.F, Fixture.b("q"), 2, Fixture.b("second")));
        table.delete(new Delete(Fixture.b("a")));
      });
      copies(fixture, admin);
      restoring(fixture, table, admin);
      out.run("delete", () -> admin.deleteSnapshot(NAME));
      out.run("delete it again", () -> admin.deleteSnapshot(NAME));
      out.call("list", () -> show(admin.listSnapshots(Pattern.compile("jt_.*"))));
    }
    fixture.drop("past");
  }

  private static List<String> show(List<SnapshotDescription> snapshots) {
    return snapshots.stream().map(snapshot -> snapshot.getName() + " of " + snapshot.getTableNameAsString() + " " + snapshot.getType() + " version "
      + snapshot.getVersion() + " ttl " + snapshot.getTtl() + " made " + Transcript.time(snapshot.getCreationTime())).toList();
  }

  private static void copies(Fixture fixture, Admin admin) throws Exception {
    Transcript out = fixture.out;
    out.run("clone", () -> admin.cloneSnapshot(NAME, Fixture.name("copy")));
    Creating.describe(fixture, admin, "copy");
    try (Table copy = fixture.connection.getTable(Fixture.name("copy"))) {
      fixture.scan("the copy", copy, new Scan());
      out.run("put into the copy", () -> copy.put(new Put(Fixture.b("d")).addColumn(Fixture.F, Fixture.b("q"), 3, Fixture.b("copy"))));
      out.call("rows of the copy", () -> Scans.keys(Fixture.all(copy, new Scan())));
    }
    out.run("clone onto a table that is there", () -> admin.cloneSnapshot(NAME, Fixture.name("copy")));
    out.run("clone what is not there", () -> admin.cloneSnapshot("jt_none", Fixture.name("copy2")));
    fixture.drop("copy");
  }

  private static void restoring(Fixture fixture, Table table, Admin admin) {
    Transcript out = fixture.out;
    out.run("restore while enabled", () -> admin.restoreSnapshot(NAME));
    out.run("disable", () -> admin.disableTable(table.getName()));
    out.run("restore", () -> admin.restoreSnapshot(NAME));
    out.run("enable", () -> admin.enableTable(table.getName()));
    fixture.scan("the table", table, new Scan());
    out.run("restore what is not there", () -> admin.restoreSnapshot("jt_none"));
  }
}
