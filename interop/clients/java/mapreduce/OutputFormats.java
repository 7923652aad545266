import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.io.ImmutableBytesWritable;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.mapreduce.HFileOutputFormat2;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.tool.BulkLoadHFiles;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;

/** A job that writes store files for the regions of a table, which are then loaded. */
final class OutputFormats {
  /** A line is a row, a family, a time and a value. */
  public static final class Lines extends Mapper<LongWritable, Text, ImmutableBytesWritable, Put> {
    @Override
    protected void map(LongWritable at, Text line, Context context) throws IOException, InterruptedException {
      String[] parts = line.toString().split(" ");
      byte[] row = Bytes.toBytes(parts[0]);
      Put put = new Put(row).addColumn(Bytes.toBytes(parts[1]), Bytes.toBytes("q"), Long.parseLong(parts[2]), Bytes.toBytes(parts[3]));
      context.write(new ImmutableBytesWritable(row), put);
    }
  }

  static void run(Fixture fixture, Files files) throws Exception {
    TableDescriptorBuilder descriptor = TableDescriptorBuilder.newBuilder(Fixture.name("out"))
      .setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(Fixture.F).setMaxVersions(3).setBloomFilterType(BloomType.ROWCOL).build())
      .setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(Fixture.G).setCompressionType(Compression.Algorithm.GZ)
        .setDataBlockEncoding(DataBlockEncoding.FAST_DIFF).build());
    try (Table table = fixture.table(descriptor.build(), "h", "p"); Admin admin = fixture.connection.getAdmin();
      RegionLocator regions = fixture.connection.getRegionLocator(table.getName())) {
      String[] lines = new String[90];
      for (int at = 0; at < lines.length; at++) {
        lines[at] = (char) ('a' + at % 26) + "-" + at + " " + (at % 3 == 0 ? "g" : "f") + " " + (at + 1) + " value-" + at;
      }
      files.text("out-input/lines", lines);
      Job job = job(files.configuration, "out");
      job.setMapperClass(Lines.class);
      job.setMapOutputKeyClass(ImmutableBytesWritable.class);
      job.setMapOutputValueClass(Put.class);
      HFileOutputFormat2.configureIncrementalLoad(job, table.getDescriptor(), regions);
      FileInputFormat.addInputPath(job, files.path("out-input"));
      FileOutputFormat.setOutputPath(job, files.path("out"));
      fixture.out.call("the job", () -> job.waitForCompletion(false));
      fixture.out.line("one file for each region: f " + files.count("out", "f") + ", g " + files.count("out", "g"));
      table.put(new Put(Fixture.b("a-26")).addColumn(Fixture.F, Fixture.b("q"), 27, Fixture.b("older")));
      fixture.out.call("loading", () -> BulkLoadHFiles.create(files.configuration).bulkLoad(table.getName(), files.path("out")).size());
      fixture.out.line("left behind: f " + files.count("out", "f") + ", g " + files.count("out", "g"));
      table.delete(new Delete(Fixture.b("b-1")));
      fixture.scan("all rows", table, new Scan());
      fixture.scan("from f on", table, new Scan().withStartRow(Fixture.b("f")).withStopRow(Fixture.b("i")));
      fixture.out.call("a row", () -> table.get(new org.apache.hadoop.hbase.client.Get(Fixture.b("c-54"))));
      admin.flush(table.getName());
      fixture.scan("after a flush", table, new Scan().withStopRow(Fixture.b("d")));
    }
  }

  static Job job(Configuration base, String name) throws IOException {
    Job job = Job.getInstance(base, name);
    job.setJarByClass(OutputFormats.class);
    return job;
  }
}
