import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.NamespaceDescriptor;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Increment;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.io.ImmutableBytesWritable;
import org.apache.hadoop.hbase.mapreduce.TableInputFormat;
import org.apache.hadoop.hbase.mapreduce.TableMapReduceUtil;
import org.apache.hadoop.hbase.mapreduce.TableSnapshotInputFormat;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.snapshot.ExportSnapshot;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.hadoop.util.ToolRunner;

/**
 * Tables that go from HBase to Halite and back. Arguments: the port of the server's ZooKeeper, and
 * `fill`, or `dump TABLE FILE`, `clone SNAPSHOT TABLE`, `export SNAPSHOT DIRECTORY`, `input SNAPSHOT DIRECTORY FILE`, in any
 * number.
 */
public final class Exchange {
  private static final byte[] F = b("f");
  private static final byte[] G = b("g");
  private static final int ROWS = 300;
  private static final long TIME = 1_700_000_000_000L;

  private final Configuration configuration;
  private final Connection connection;
  private final Admin admin;

  private Exchange(Configuration configuration) throws IOException {
    this.configuration = configuration;
    connection = ConnectionFactory.createConnection(configuration);
    admin = connection.getAdmin();
  }

  public static void main(String[] arguments) throws Exception {
    Configuration configuration = HBaseConfiguration.create();
    configuration.set("hbase.zookeeper.quorum", "127.0.0.1");
    configuration.set("hbase.zookeeper.property.clientPort", arguments[0]);
    configuration.set("hbase.rootdir", arguments[1]);
    Exchange exchange = new Exchange(configuration);
    int at = 2;
    while (at < arguments.length) {
      String[] a = arguments;
      switch (a[at]) {
        case "fill" -> exchange.fill();
        case "dump" -> exchange.dump(a[++at], a[++at]);
        case "clone" -> exchange.admin.cloneSnapshot(a[++at], TableName.valueOf(a[++at]));
        case "restore" -> exchange.restore(a[++at], TableName.valueOf(a[++at]));
        case "export" -> exchange.export(a[++at], a[++at]);
        case "input" -> exchange.input(a[++at], a[++at], a[++at]);
        default -> throw new IllegalArgumentException(a[at]);
      }
      at++;
    }
    System.exit(0);
  }

  /** Restores a table that exists from a snapshot of it. */
  private void restore(String snapshot, TableName table) throws Exception {
    admin.disableTable(table);
    admin.restoreSnapshot(snapshot);
    admin.enableTable(table);
  }

  private static byte[] b(String text) {
    return Bytes.toBytes(text);
  }

  /** Makes tables whose newest cells are in the log only. */
  private void fill() throws Exception {
    admin.createNamespace(NamespaceDescriptor.create("space").build());
    create("plain", "row-100", "row-200");
    create("space:parts");
    create("filler");
    for (int round = 0; round < 2; round++) {
      write("plain", round);
      write("space:parts", round);
      admin.flush(TableName.valueOf("plain"));
      admin.flush(TableName.valueOf("space:parts"));
    }
    admin.majorCompact(TableName.valueOf("plain"), G);
    admin.snapshot("monday", TableName.valueOf("plain"));
    admin.cloneSnapshot("monday", TableName.valueOf("space:clone"));
    TableName parts = TableName.valueOf("space:parts");
    admin.splitRegionAsync(admin.getRegions(parts).get(0).getRegionName(), b("row-150")).get();
    admin.snapshot("halves", parts);
    for (int round = 2; round < 4; round++) {
      write("plain", round);
      write("space:parts", round);
      write("space:clone", round);
    }
    // The log is buffered by Hadoop's local file system; these push the cells before them to the disk.
    List<Put> puts = new ArrayList<>();
    for (int row = 0; row < 2000; row++) {
      puts.add(new Put(b("filler-" + row)).addColumn(F, b("q"), new byte[500]));
    }
    try (Table table = connection.getTable(TableName.valueOf("filler"))) {
      table.put(puts);
    }
  }

  private void create(String name, String... splits) throws IOException {
    var f = ColumnFamilyDescriptorBuilder.newBuilder(F).setMaxVersions(3);
    var g = ColumnFamilyDescriptorBuilder.newBuilder(G).setMaxVersions(2).setDataBlockEncoding(DataBlockEncoding.FAST_DIFF)
      .setCompressionType(Compression.Algorithm.GZ).setBloomFilterType(BloomType.ROWCOL);
    byte[][] starts = List.of(splits).stream().map(Exchange::b).toArray(byte[][]::new);
    var table = TableDescriptorBuilder.newBuilder(TableName.valueOf(name)).setColumnFamily(f.build()).setColumnFamily(g.build());
    // A split leaves references until a compaction.
    admin.createTable(table.setCompactionEnabled(!name.equals("space:parts")).build(), starts.length == 0 ? null : starts);
  }

  private void write(String name, int round) throws IOException {
    try (Table table = connection.getTable(TableName.valueOf(name))) {
      for (int number = round; number < ROWS; number += 1 + round) {
        byte[] row = b(String.format("row-%03d", number));
        long time = TIME + round * 1000L + number;
        switch ((number + round) % 7) {
          case 0 -> table.delete(new Delete(row).addColumns(F, b("a"), time));
          case 1 -> table.delete(new Delete(row).addFamily(G, time));
          case 2 -> table.delete(new Delete(row).addColumn(F, b("b"), time - 1000));
          case 3 -> table.increment(new Increment(row).addColumn(F, b("count"), 5).setTimestamp(time));
          case 4 -> table.put(new Put(row).addColumn(F, b("ttl"), time, b("x")).setTTL(1L << 40));
          default -> table.put(new Put(row).addColumn(F, b("a"), time, b("round " + round)).addColumn(F, b("b"), TIME, b("" + round))
            .addColumn(G, b("c"), time, new byte[number % 40]).addColumn(G, b(""), time, b("")));
        }
      }
    }
  }

  /** Writes what a scan returns, and what a raw scan of all versions does. */
  private void dump(String name, String file) throws IOException {
    try (Table table = connection.getTable(TableName.valueOf(name)); PrintWriter out = writer(file)) {
      for (boolean raw : new boolean[] { false, true }) {
        try (ResultScanner scanner = table.getScanner(raw ? new Scan().setRaw(true).readAllVersions() : new Scan())) {
          for (Result result : scanner) {
            print(out, raw, result);
          }
        }
      }
    }
  }

  private static PrintWriter writer(String file) throws IOException {
    return new PrintWriter(Files.newBufferedWriter(Path.of(file), StandardCharsets.UTF_8));
  }

  private static void print(PrintWriter out, boolean raw, Result result) {
    for (Cell cell : result.rawCells()) {
      out.print((raw ? "raw " : "cell ") + Bytes.toStringBinary(cell.getRowArray(), cell.getRowOffset(), cell.getRowLength()));
      out.print(" " + Bytes.toStringBinary(cell.getFamilyArray(), cell.getFamilyOffset(), cell.getFamilyLength()));
      out.print(":" + Bytes.toStringBinary(cell.getQualifierArray(), cell.getQualifierOffset(), cell.getQualifierLength()));
      out.print(" " + cell.getTimestamp() + " " + cell.getTypeByte() + " = ");
      out.println(Bytes.toStringBinary(cell.getValueArray(), cell.getValueOffset(), cell.getValueLength()));
    }
  }

  private void export(String snapshot, String directory) throws Exception {
    // Hadoop's local file system has no checksums to compare.
    int code = ToolRunner.run(configuration, new ExportSnapshot(),
      new String[] { "-snapshot", snapshot, "-copy-to", "file://" + directory, "-mappers", "1", "-no-checksum-verify" });
    if (code != 0) {
      throw new IOException("ExportSnapshot of " + snapshot + " ended with " + code);
    }
  }

  /** Writes what jobs on a snapshot read, as `dump` does. */
  private void input(String snapshot, String directory, String file) throws Exception {
    try (PrintWriter out = writer(file)) {
      for (boolean raw : new boolean[] { false, true }) {
        Scan scan = raw ? new Scan().setRaw(true).readAllVersions() : new Scan();
        Job job = Job.getInstance(new Configuration(configuration));
        TableSnapshotInputFormat.setInput(job, snapshot, new org.apache.hadoop.fs.Path("file://" + directory + "/" + raw));
        job.getConfiguration().set(TableInputFormat.SCAN, TableMapReduceUtil.convertScanToString(scan));
        var context = new TaskAttemptContextImpl(job.getConfiguration(), new TaskAttemptID());
        TableSnapshotInputFormat format = new TableSnapshotInputFormat();
        for (InputSplit split : format.getSplits(job)) {
          try (RecordReader<ImmutableBytesWritable, Result> reader = format.createRecordReader(split, context)) {
            reader.initialize(split, context);
            while (reader.nextKeyValue()) {
              print(out, raw, reader.getCurrentValue());
            }
          }
        }
      }
    }
  }
}
