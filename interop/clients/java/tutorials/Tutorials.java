import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Append;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * The programs of the tutorials, on hbase-client alone: recent readings of a sensor, the feed of a
 * user, a mailbox, and a counter. Each is run as the tutorials have it, and corrected.
 * Arguments: the port of the server's ZooKeeper, and the file of the output.
 */
public final class Tutorials {
  /** 2024-03-15T00:00:00Z. */
  private static final long NOW = 1_710_460_800_000L;
  private static final long HOUR = 3_600_000L;
  private static final byte[] DATA = Bytes.toBytes("data");

  private final Connection connection;
  private final PrintStream out;

  private Tutorials(Connection connection, PrintStream out) {
    this.connection = connection;
    this.out = out;
  }

  public static void main(String[] arguments) throws IOException {
    Configuration configuration = HBaseConfiguration.create();
    configuration.set("hbase.zookeeper.quorum", "127.0.0.1");
    configuration.set("hbase.zookeeper.property.clientPort", arguments[0]);
    try (Connection connection = ConnectionFactory.createConnection(configuration);
      PrintStream out = new PrintStream(arguments[1], StandardCharsets.UTF_8)) {
      Tutorials tutorials = new Tutorials(connection, out);
      tutorials.sensors();
      tutorials.feed();
      tutorials.mailbox();
      tutorials.counters();
      tutorials.keys();
    }
  }

  /** Readings of a sensor, newest first: the key is the sensor and the reversed time. */
  private void sensors() throws IOException {
    out.println("== sensors");
    try (Table table = create("tut_sensor_data")) {
      for (String sensor : List.of("s1", "s10", "s2")) {
        List<Put> puts = new ArrayList<>();
        for (int hour = 0; hour < 30; hour++) {
          Put put = new Put(Bytes.toBytes(sensorKey(sensor, NOW - hour * HOUR)));
          put.addColumn(DATA, Bytes.toBytes("value"), Bytes.toBytes(20.5 + hour));
          puts.add(put);
        }
        table.put(puts);
      }
      String start = sensorKey("s1", NOW);
      String stop = "s1_" + (Long.MAX_VALUE - (NOW - 24 * HOUR) + 1);
      out.println("start " + start + ", stop " + stop);
      // As the tutorials have it: the earlier time is the greater key, so the range is empty.
      Scan inverted = new Scan().withStartRow(Bytes.toBytes(sensorKey("s1", NOW - 24 * HOUR)))
        .withStopRow(Bytes.toBytes(sensorKey("s1", NOW + 1)));
      print("last 24 hours, from the earlier time", table, inverted);
      Scan recent = new Scan().withStartRow(Bytes.toBytes(start)).withStopRow(Bytes.toBytes(stop));
      print("last 24 hours", table, recent);
      print("newest", table, new Scan().withStartRow(Bytes.toBytes(start)).setLimit(1));
    }
    drop("tut_sensor_data");
  }

  private static String sensorKey(String sensor, long timestamp) {
    return sensor + "_" + (Long.MAX_VALUE - timestamp);
  }

  /** Posts of friends, pushed to the feed of each user. */
  private void feed() throws IOException {
    out.println("== feed");
    try (Table table = create("tut_feed")) {
      publish(table, "user_002", 1, List.of("user_001", "user_0010"));
      publish(table, "user_003", 2, List.of("user_001", "user_0010"));
      publish(table, "user_002", 3, List.of("user_0010", "user_002"));
      // Without an end the page of a user with few posts continues with those of the next user.
      print("feed of user_001, without an end", table, feedScan("user_001").setLimit(5));
      print("feed of user_001", table, new Scan().setStartStopRowForPrefixScan(Bytes.toBytes("user_001_")).setLimit(5));
      print("feed of user_0010, the first two", table,
        new Scan().setStartStopRowForPrefixScan(Bytes.toBytes("user_0010_")).setLimit(2));
      print("feed of a user without friends", table, new Scan().setStartStopRowForPrefixScan(Bytes.toBytes("user_009_")));
    }
    drop("tut_feed");
  }

  private static Scan feedScan(String user) {
    return new Scan().withStartRow(Bytes.toBytes(user + "_"));
  }

  private static void publish(Table feed, String author, int minute, List<String> followers) throws IOException {
    for (String follower : followers) {
      long reversed = Long.MAX_VALUE - (NOW + minute * 60_000L);
      Put put = new Put(Bytes.toBytes(follower + "_" + reversed + "_" + author));
      put.addColumn(DATA, Bytes.toBytes("content"), Bytes.toBytes("post " + minute + " of " + author));
      feed.put(put);
    }
  }

  /** Received messages, and an edit that is a new version. */
  private void mailbox() throws IOException {
    out.println("== mailbox");
    try (Table table = create("tut_inbox")) {
      byte[] row = Bytes.toBytes("user_001_" + (Long.MAX_VALUE - NOW) + "_user_002");
      byte[] body = Bytes.toBytes("msg:body");
      table.put(new Put(row).addColumn(DATA, body, 1, Bytes.toBytes("helo")));
      table.put(new Put(row).addColumn(DATA, body, 2, Bytes.toBytes("hello")));
      out.println("newest: " + show(table.get(new Get(row))));
      out.println("all versions: " + show(table.get(new Get(row).readAllVersions())));
      out.println("missing: " + show(table.get(new Get(Bytes.toBytes("user_009")))));
    }
    drop("tut_inbox");
  }

  /** Logins of a day: Append joins bytes, an increment adds numbers. */
  private void counters() throws IOException {
    out.println("== counters");
    try (Table table = create("tut_stats")) {
      byte[] row = Bytes.toBytes("user_001_20240315");
      for (int login = 0; login < 3; login++) {
        table.append(new Append(row).addColumn(DATA, Bytes.toBytes("text"), Bytes.toBytes("1")));
        table.append(new Append(row).addColumn(DATA, Bytes.toBytes("long"), Bytes.toBytes(1L)));
        table.incrementColumnValue(row, DATA, Bytes.toBytes("count"), 1);
      }
      Result result = table.get(new Get(row));
      for (String column : List.of("text", "long", "count")) {
        out.println(column + ": " + Bytes.toStringBinary(result.getValue(DATA, Bytes.toBytes(column))));
      }
      out.println("logins: " + Bytes.toLong(result.getValue(DATA, Bytes.toBytes("count"))));
    }
    drop("tut_stats");
  }

  /** Lengths of keys: 1 to 32767 bytes, and not 64 KB. */
  private void keys() throws IOException {
    out.println("== keys");
    try (Table table = create("tut_keys")) {
      for (int length : new int[] {0, 1, 32_767, 32_768}) {
        try {
          table.put(new Put(new byte[length]).addColumn(DATA, DATA, DATA));
          out.println("put of " + length + " bytes: " + table.exists(new Get(new byte[length])));
        } catch (IllegalArgumentException error) {
          out.println("put of " + length + " bytes: " + error.getMessage());
        }
      }
    }
    drop("tut_keys");
  }

  /** Creates a table with three versions of each cell; one that an earlier run left is dropped. */
  private Table create(String name) throws IOException {
    drop(name);
    try (Admin admin = connection.getAdmin()) {
      admin.createTable(TableDescriptorBuilder.newBuilder(TableName.valueOf(name))
        .setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(DATA).setMaxVersions(3).build()).build());
    }
    return connection.getTable(TableName.valueOf(name));
  }

  private void drop(String name) throws IOException {
    try (Admin admin = connection.getAdmin()) {
      TableName table = TableName.valueOf(name);
      if (admin.tableExists(table)) {
        admin.disableTable(table);
        admin.deleteTable(table);
      }
    }
  }

  private void print(String what, Table table, Scan scan) throws IOException {
    List<Result> rows = new ArrayList<>();
    try (ResultScanner scanner = table.getScanner(scan)) {
      scanner.forEach(rows::add);
    }
    out.println(what + ": " + rows.size() + " rows");
    for (Result row : rows) {
      out.println("  " + Bytes.toStringBinary(row.getRow()));
    }
  }

  private static String show(Result result) {
    List<String> cells = new ArrayList<>();
    for (Cell cell : result.isEmpty() ? new Cell[0] : result.rawCells()) {
      cells.add(Bytes.toStringBinary(CellUtil.cloneValue(cell)) + "@" + cell.getTimestamp());
    }
    return cells.toString();
  }
}
