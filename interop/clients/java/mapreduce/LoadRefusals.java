import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.tool.BulkLoadHFiles;

/** What the loading tool does not load. */
final class LoadRefusals {
  static void run(Fixture fixture, Files files) throws Exception {
    try (Table table = fixture.table("refuse"); Admin admin = fixture.connection.getAdmin();
      Table missing = fixture.connection.getTable(Fixture.name("missing"))) {
      Path good = files.rows("good", "f", "good", "a");
      Loading.load(fixture, "into a table that is not there", missing, files.path("good"), BulkLoadHFiles.CREATE_TABLE_CONF_KEY, "no");
      files.rows("unknown", "nosuch", "of another family", "a");
      Loading.load(fixture, "a family that is not there", table, files.path("unknown"));
      files.rows("unknown", "f", "of a family that is there", "b");
      Loading.load(fixture, "that family is passed over", table, files.path("unknown"), BulkLoadHFiles.IGNORE_UNMATCHED_CF_CONF_KEY, "true");
      Loading.load(fixture, "no folder", table, files.path("no-such-folder"));
      files.text("text/f/file", "no store file");
      Loading.load(fixture, "a text", table, files.path("text"));
      admin.disableTable(table.getName());
      Loading.load(fixture, "into a disabled table", table, files.path("good"));
      admin.enableTable(table.getName());
      admin.modifyTable(TableDescriptorBuilder.newBuilder(table.getDescriptor()).setReadOnly(true).build());
      Loading.load(fixture, "into a read-only table", table, files.path("good"));
      fixture.out.line("the file is there: " + files.exists(good));
      admin.modifyTable(TableDescriptorBuilder.newBuilder(table.getDescriptor()).setReadOnly(false).build());
      Loading.load(fixture, "in the end", table, files.path("good"));
      fixture.out.line("the file is there: " + files.exists(good));
      fixture.scan("what was loaded", table, new Scan());
    }
  }
}
