import java.io.PrintStream;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellComparatorImpl;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.KeyValueUtil;
import org.apache.hadoop.hbase.PrivateCellUtil;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.fs.HFileSystem;
import org.apache.hadoop.hbase.io.ByteBuffAllocator;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFileContext;
import org.apache.hadoop.hbase.io.hfile.HFileContextBuilder;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;
import org.apache.hadoop.hbase.io.hfile.LruBlockCache;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.regionserver.StoreFileWriter;
import org.apache.hadoop.hbase.util.ChecksumType;

/**
 * Speed of HBase's reader and writer on the files of a folder, with a cache of index blocks only. For each file one line goes to
 * the second argument: name, megabytes of KeyValue bytes written and scanned per second, seeks per second. Each
 * measurement runs until the compiler has settled and then some rounds more; the fastest counts.
 */
public final class HFileSpeed {
  private static final int SEEKS = 20_000;
  private static final int SEEK_STEP = 104_729;
  private static final int ROUNDS_MIN = 6;
  private static final int ROUNDS_MAX = 20;
  private static final double ENOUGH_SECONDS = 2.5;

  private interface Work {
    long run() throws Exception;
  }

  private static long witness;

  public static void main(String[] arguments) throws Exception {
    Configuration configuration = HBaseConfiguration.create();
    HFileSystem files = new HFileSystem(configuration, true);
    List<java.nio.file.Path> paths = new ArrayList<>();
    try (var inside = Files.list(java.nio.file.Path.of(arguments[0]).toAbsolutePath())) {
      inside.filter(Files::isRegularFile).sorted().forEach(paths::add);
    }
    try (PrintStream out = new PrintStream(arguments[1], "UTF-8")) {
      for (java.nio.file.Path path : paths) {
        measure(configuration, files, path, out);
      }
    }
    System.err.println("HBase read " + paths.size() + " files (" + witness + ")");
  }

  private static void measure(Configuration configuration, FileSystem files, java.nio.file.Path path, PrintStream out)
      throws Exception {
    Path file = new Path(path.toUri());
    try (HFile.Reader reader = HFile.createReader(files, file, indexCache(configuration), true, configuration)) {
      List<KeyValue> cells = new ArrayList<>();
      HFileScanner all = reader.getScanner(configuration, false, false);
      long bytes = 0;
      for (boolean more = all.seekTo(); more; more = all.next()) {
        KeyValue cell = KeyValueUtil.copyToNewKeyValue(all.getCell());
        cell.setSequenceId(all.getCell().getSequenceId());
        cells.add(cell);
        bytes += cell.getLength();
      }
      all.close();
      double megabytes = bytes / 1e6;
      double scan = fastest(() -> scan(configuration, reader));
      double seek = fastest(() -> seek(configuration, reader, cells));
      HFileContext context = new HFileContextBuilder()
          .withBlockSize(65_536)
          .withBytesPerCheckSum(16_384)
          .withChecksumType(ChecksumType.CRC32C)
          .withCompression(reader.getFileContext().getCompression())
          .withDataBlockEncoding(reader.getDataBlockEncoding())
          .withHBaseCheckSum(true)
          .withIncludesMvcc(true)
          .withCellComparator(CellComparatorImpl.COMPARATOR)
          .build();
      Path copy = new Path(file.getParent(), "copy-" + file.getName());
      double write = fastest(() -> write(configuration, files, copy, context, cells));
      files.delete(copy, false);
      out.println(path.getFileName() + "," + megabytes / write + "," + megabytes / scan + "," + SEEKS / seek);
      out.flush();
    }
  }

  /** Returns the settings of a family with BLOCKCACHE false: its index blocks are cached, its data is not. */
  private static CacheConfig indexCache(Configuration configuration) {
    ColumnFamilyDescriptor family =
        ColumnFamilyDescriptorBuilder.newBuilder(new byte[] {'f'}).setBlockCacheEnabled(false).build();
    return new CacheConfig(configuration, family, new LruBlockCache(64L << 20, 65_536), ByteBuffAllocator.HEAP);
  }

  private static long scan(Configuration configuration, HFile.Reader reader) throws Exception {
    HFileScanner scanner = reader.getScanner(configuration, false, false);
    long bytes = 0;
    for (boolean more = scanner.seekTo(); more; more = scanner.next()) {
      bytes += PrivateCellUtil.estimatedSerializedSizeOf(scanner.getCell());
    }
    scanner.close();
    return bytes;
  }

  private static long seek(Configuration configuration, HFile.Reader reader, List<KeyValue> cells) throws Exception {
    HFileScanner scanner = reader.getScanner(configuration, false, true);
    long bytes = 0;
    int at = 0;
    for (int count = 0; count < SEEKS; count++) {
      at = (at + SEEK_STEP) % cells.size();
      if (scanner.seekTo(cells.get(at)) != 0) {
        throw new AssertionError("cell " + at + " is not found");
      }
      Cell found = scanner.getCell();
      bytes += found.getValueLength();
    }
    scanner.close();
    return bytes;
  }

  private static long write(Configuration configuration, FileSystem files, Path path, HFileContext context,
      List<KeyValue> cells) throws Exception {
    // As a flush writes it: with a Bloom filter of rows and the properties of a store file.
    StoreFileWriter writer = new StoreFileWriter.Builder(configuration, CacheConfig.DISABLED, files)
        .withFilePath(path).withFileContext(context).withBloomType(BloomType.ROW).withMaxKeyCount(cells.size()).build();
    for (KeyValue cell : cells) {
      writer.append(cell);
    }
    writer.appendMetadata(1, false);
    writer.close();
    return cells.size();
  }

  /** Returns the seconds of the fastest round. */
  private static double fastest(Work work) throws Exception {
    double fastest = Double.MAX_VALUE;
    long began = System.nanoTime();
    for (int round = 0; round < ROUNDS_MAX; round++) {
      if (round >= ROUNDS_MIN && (System.nanoTime() - began) / 1e9 > ENOUGH_SECONDS) {
        break;
      }
      long start = System.nanoTime();
      witness += work.run();
      fastest = Math.min(fastest, (System.nanoTime() - start) / 1e9);
    }
    return fastest;
  }
}
