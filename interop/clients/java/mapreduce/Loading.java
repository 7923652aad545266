import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellBuilderFactory;
import org.apache.hadoop.hbase.CellBuilderType;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.tool.BulkLoadHFiles;

/** What a load does to a table and to the files: order among other writes, boundaries of regions, moving and copying. */
final class Loading {
  static void run(Fixture fixture, Files files) throws Exception {
    order(fixture, files);
    boundaries(fixture, files);
    copies(fixture, files);
    kinds(fixture, files);
    newTable(fixture, files);
  }

  static void load(Fixture fixture, String what, Table table, Path folder, String... settings) {
    Configuration configuration = new Configuration(fixture.configuration);
    for (int at = 0; at < settings.length; at += 2) {
      configuration.set(settings[at], settings[at + 1]);
    }
    fixture.out.call(what, () -> BulkLoadHFiles.create(configuration).bulkLoad(table.getName(), folder).size());
  }

  private static void put(Table table, String row, String value) throws Exception {
    table.put(new Put(Fixture.b(row)).addColumn(Fixture.F, Fixture.b("q"), 5, Fixture.b(value)));
  }

  private static void order(Fixture fixture, Files files) throws Exception {
    try (Table table = fixture.table("order"); Admin admin = fixture.connection.getAdmin()) {
      put(table, "a", "before, flushed");
      admin.flush(table.getName());
      put(table, "b", "before");
      put(table, "c", "before");
      files.rows("order", "f", "loaded", "a", "b", "c", "d");
      files.rows("order", "g", "loaded too", "a", "d");
      load(fixture, "two families", table, files.path("order"));
      put(table, "c", "after");
      fixture.scan("in order", table, new Scan());
      files.rows("again", "f", "loaded again", "a", "c");
      load(fixture, "again", table, files.path("again"));
      fixture.scan("the later load", table, new Scan());
      files.rows("unnumbered", "f", "without a number", "a", "e");
      load(fixture, "without sequence ids", table, files.path("unnumbered"), BulkLoadHFiles.ASSIGN_SEQ_IDS, "false");
      fixture.scan("older than the others", table, new Scan());
      admin.majorCompact(table.getName());
      fixture.await("compacted", () -> admin.getLastMajorCompactionTimestamp(table.getName()) > 0);
      fixture.scan("after a compaction", table, new Scan());
    }
  }

  private static void boundaries(Fixture fixture, Files files) throws Exception {
    try (Table table = fixture.table("bounds", "h", "p")) {
      String[] rows = new String[26];
      for (int at = 0; at < rows.length; at++) {
        rows[at] = String.valueOf((char) ('a' + at));
      }
      files.rows("bounds", "f", "over three regions", rows);
      files.rows("bounds", "g", "over two", "g", "gg", "h", "i");
      load(fixture, "files that have to be split", table, files.path("bounds"));
      fixture.scan("each row once", table, new Scan());
      fixture.scan("one region", table, new Scan().withStartRow(Fixture.b("h")).withStopRow(Fixture.b("p")));
      files.rows("halves", "f", "not split", "a", "z");
      load(fixture, "when splitting is not wanted", table, files.path("halves"), "hbase.loadincremental.fail.if.need.split.hfile", "true");
    }
  }

  private static void copies(Fixture fixture, Files files) throws Exception {
    try (Table table = fixture.table("copies")) {
      Path moved = files.rows("moved", "f", "moved", "a");
      load(fixture, "moved", table, files.path("moved"));
      fixture.out.line("the original is there: " + files.exists(moved));
      Path copied = files.rows("copied", "f", "copied", "b");
      load(fixture, "copied", table, files.path("copied"), BulkLoadHFiles.ALWAYS_COPY_FILES, "true");
      fixture.out.line("the original is there: " + files.exists(copied));
      load(fixture, "the same once more", table, files.path("copied"), BulkLoadHFiles.ALWAYS_COPY_FILES, "true");
      fixture.scan("both", table, new Scan());
    }
  }

  /** Deletes, versions, encodings and compressions in the files. */
  private static void kinds(Fixture fixture, Files files) throws Exception {
    try (Table table = fixture.table("kinds")) {
      put(table, "a", "deleted by what is loaded");
      put(table, "b", "stays");
      List<Cell> cells = new ArrayList<>();
      cells.add(marker("a", Cell.Type.DeleteFamily, 5));
      for (int time = 9; time > 4; time--) {
        cells.add(Files.put("v", "f", time, "version " + time));
      }
      int number = 0;
      for (DataBlockEncoding encoding : DataBlockEncoding.values()) {
        for (Compression.Algorithm compression : new Compression.Algorithm[] {Compression.Algorithm.NONE, Compression.Algorithm.GZ}) {
          List<Cell> own = new ArrayList<>(cells);
          for (int at = 0; at < 40; at++) {
            own.add(Files.put("w" + number + "-" + (10 + at), "f", 5, encoding + " and " + compression));
          }
          files.write("kinds/f/file-" + number++, encoding, compression, own);
        }
      }
      load(fixture, "every encoding", table, files.path("kinds"));
      fixture.scan("up to three versions", table, new Scan().readVersions(3).withStopRow(Fixture.b("w")));
      fixture.out.call("rows", () -> Fixture.all(table, new Scan()).size());
      fixture.out.call("one of each", () -> Fixture.all(table, new Scan().setFilter(
        new org.apache.hadoop.hbase.filter.RowFilter(org.apache.hadoop.hbase.CompareOperator.EQUAL,
          new org.apache.hadoop.hbase.filter.RegexStringComparator("-30$")))));
      fixture.out.call("a get", () -> table.get(new Get(Fixture.b("v")).readAllVersions()));
    }
  }

  private static Cell marker(String row, Cell.Type type, long time) {
    return CellBuilderFactory.create(CellBuilderType.DEEP_COPY).setRow(Fixture.b(row)).setFamily(Fixture.F).setQualifier(new byte[0])
      .setTimestamp(time).setType(type).setValue(new byte[0]).build();
  }

  /** The tool makes a table that is not there, with regions as the files suggest. */
  private static void newTable(Fixture fixture, Files files) throws Exception {
    files.rows("made", "f", "made", "a", "m", "z");
    String[] arguments = {"-D" + BulkLoadHFiles.CREATE_TABLE_CONF_KEY + "=yes", files.path("made").toString(), Fixture.name("made").toString()};
    fixture.out.call("into a table that is not there", () -> org.apache.hadoop.util.ToolRunner.run(new Configuration(fixture.configuration),
      new org.apache.hadoop.hbase.tool.BulkLoadHFilesTool(fixture.configuration), arguments));
    try (Table table = fixture.connection.getTable(Fixture.name("made"))) {
      fixture.scan("its rows", table, new Scan());
    }
  }
}
