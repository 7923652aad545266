import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.NamespaceDescriptor;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/** What the sections share: one connection, tables whose names all begin alike, and short ways to say common things. */
final class Fixture {
  static final byte[] F = Bytes.toBytes("f");
  static final byte[] G = Bytes.toBytes("g");
  /** Everything these programs make is named like this, so that others on the server are not touched. */
  static final String PREFIX = "jt_";
  static final Pattern OURS = Pattern.compile("(jt_ns[0-9]?:)?jt_.*");
  private static final long WAIT_MS_MAX = 60_000;

  final Configuration configuration;
  final Connection connection;
  final Transcript out;

  Fixture(Configuration configuration, Connection connection, Transcript out) {
    this.configuration = configuration;
    this.connection = connection;
    this.out = out;
  }

  static byte[] b(String text) {
    return Bytes.toBytes(text);
  }

  static TableName name(String last) {
    return TableName.valueOf(PREFIX + last);
  }

  /** Makes a table with the families `f` and `g`, three versions each, and regions that begin at the given rows. */
  Table table(String last, String... splits) throws IOException {
    TableDescriptorBuilder builder = TableDescriptorBuilder.newBuilder(name(last));
    for (byte[] family : new byte[][] {F, G}) {
      builder.setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(family).setMaxVersions(3).build());
    }
    return table(builder.build(), splits);
  }

  Table table(TableDescriptor descriptor, String... splits) throws IOException {
    byte[][] keys = new byte[splits.length][];
    for (int at = 0; at < splits.length; at++) {
      keys[at] = b(splits[at]);
    }
    try (Admin admin = connection.getAdmin()) {
      if (keys.length == 0) {
        admin.createTable(descriptor);
      } else {
        admin.createTable(descriptor, keys);
      }
    }
    return connection.getTable(descriptor.getTableName());
  }

  void drop(String... lasts) throws IOException {
    try (Admin admin = connection.getAdmin()) {
      for (String last : lasts) {
        drop(admin, name(last));
      }
    }
  }

  private static void drop(Admin admin, TableName name) throws IOException {
    if (admin.isTableEnabled(name)) {
      admin.disableTable(name);
    }
    admin.deleteTable(name);
  }

  /** Takes away what an earlier run that broke off has left. */
  void dropLeftovers() throws IOException {
    try (Admin admin = connection.getAdmin()) {
      for (TableName name : admin.listTableNames(OURS)) {
        drop(admin, name);
      }
      for (NamespaceDescriptor namespace : admin.listNamespaceDescriptors()) {
        if (namespace.getName().startsWith(PREFIX)) {
          admin.deleteNamespace(namespace.getName());
        }
      }
      admin.deleteSnapshots(OURS);
    }
  }

  /** Prints what a scan gives. */
  void scan(String what, Table table, Scan scan) {
    out.call(what, () -> all(table, scan));
  }

  static List<Result> all(Table table, Scan scan) throws IOException {
    List<Result> results = new ArrayList<>();
    try (ResultScanner scanner = table.getScanner(scan)) {
      // Not the iterator, which wraps what is thrown.
      for (Result result = scanner.next(); result != null; result = scanner.next()) {
        results.add(result);
      }
    }
    return results;
  }

  /** Waits for what the server does in its own time; prints whether it came. */
  void await(String what, Callable<Boolean> condition) throws Exception {
    long end = System.currentTimeMillis() + WAIT_MS_MAX;
    while (!condition.call()) {
      if (System.currentTimeMillis() > end) {
        out.line(what + ": not within " + WAIT_MS_MAX + " ms");
        return;
      }
      Thread.sleep(50);
    }
    out.line(what + ": yes");
  }
}
