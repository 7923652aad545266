import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.KeyValueUtil;
import org.apache.hadoop.hbase.PrivateCellUtil;
import org.apache.hadoop.hbase.fs.HFileSystem;
import org.apache.hadoop.hbase.io.Reference;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFilePrettyPrinter;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.regionserver.HStoreFile;
import org.apache.hadoop.hbase.regionserver.StoreFileInfo;
import org.apache.hadoop.hbase.regionserver.StoreFileReader;

/**
 * Reads store files with HBase's own classes. For each file f/NAME below the given folder it writes to NAME.printed what
 * HFilePrettyPrinter prints, then reads the file as a region server would: checksums verified, every key sought through
 * the index, every filter asked for what is there and for what is not. Each fault is one line; any fault ends with 1.
 */
@SuppressWarnings("deprecation")
public final class ReadStoreFiles {
  /** Of keys that are not in the file, at most this part may be called possible; the filters are made for 0.01. */
  private static final double WRONG_ANSWERS_MAX = 0.05;

  private static int faults;

  public static void main(String[] arguments) throws Exception {
    java.nio.file.Path folder = java.nio.file.Path.of(arguments[0]).toAbsolutePath();
    Configuration configuration = HBaseConfiguration.create();
    HFileSystem files = new HFileSystem(configuration, true);
    List<java.nio.file.Path> paths = new ArrayList<>();
    try (var inside = Files.list(folder.resolve("f"))) {
      inside.sorted().forEach(paths::add);
    }
    for (java.nio.file.Path path : paths) {
      String name = path.getFileName().toString();
      try {
        if (name.startsWith("damaged")) {
          noticeDamage(configuration, files, path);
        } else {
          print(configuration, path, folder.resolve(name + ".printed"));
          read(configuration, files, path);
        }
      } catch (Exception | AssertionError problem) {
        problem.printStackTrace();
        fault(name, problem.toString());
      }
    }
    System.exit(faults == 0 ? 0 : 1);
  }

  private static void print(Configuration configuration, java.nio.file.Path path, java.nio.file.Path to) throws IOException {
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    PrintStream stream = new PrintStream(text, true, StandardCharsets.UTF_8);
    HFilePrettyPrinter printer = new HFilePrettyPrinter(configuration);
    printer.setPrintStreams(stream, stream);
    int code = printer.run(new String[] {"-m", "-k", "-p", "-b", "-a", "-f", path.toString()});
    Files.write(to, text.toByteArray());
    if (code != 0) {
      fault(path.getFileName().toString(), "HFilePrettyPrinter ends with " + code);
    }
  }

  private static HStoreFile open(Configuration configuration, HFileSystem files, java.nio.file.Path path) throws IOException {
    StoreFileInfo info = new StoreFileInfo(configuration, files, files.getFileStatus(new Path(path.toUri())), (Reference) null);
    HStoreFile file = new HStoreFile(info, BloomType.ROWCOL, new CacheConfig(configuration));
    file.initReader();
    return file;
  }

  private static void read(Configuration configuration, HFileSystem files, java.nio.file.Path path) throws IOException {
    String name = path.getFileName().toString();
    HFile.getAndResetChecksumFailuresCount();
    HStoreFile file = open(configuration, files, path);
    StoreFileReader reader = file.getReader();
    List<Cell> cells = all(reader);
    expect(name, "the count of entries", reader.getEntries() == cells.size());
    seek(name, reader, cells);
    askFilters(name, reader, cells);
    expect(name, "the middle of the index", cells.isEmpty() || reader.midKey().isPresent());
    if (name.equals("bulk")) {
      expect(name, "a file for bulk loading has no sequence id", file.getMetadataValue(HStoreFile.MAX_SEQ_ID_KEY) == null);
    } else {
      expect(name, "the sequence id of the file", file.getMaxSequenceId() == 1L << 40);
    }
    expect(name, "major compaction", file.isMajorCompactionResult() == name.equals("major"));
    expect(name, "the checksums", HFile.getChecksumFailuresCount() == 0);
    file.closeStoreFile(true);
  }

  private static List<Cell> all(StoreFileReader reader) throws IOException {
    List<Cell> cells = new ArrayList<>();
    HFileScanner scanner = reader.getScanner(false, true);
    if (scanner.seekTo()) {
      do {
        cells.add(KeyValueUtil.copyToNewKeyValue(scanner.getCell()));
      } while (scanner.next());
    }
    return cells;
  }

  /** Every key is found at its place, and a row that is not there leads before its successor. */
  private static void seek(String name, StoreFileReader reader, List<Cell> cells) throws IOException {
    HFileScanner scanner = reader.getScanner(false, true);
    for (int i = 0; i < cells.size(); i++) {
      Cell cell = cells.get(i);
      // A search key has no sequence id; with one it would sort before the same key in the index, which has none.
      KeyValue key = KeyValueUtil.copyToNewKeyValue(cell);
      key.setSequenceId(0);
      boolean found = scanner.seekTo(key) == 0 && CellUtil.equals(cell, scanner.getCell());
      expect(name, "the place of key " + cell, found);
      Cell behind = PrivateCellUtil.createLastOnRow(cell);
      boolean lastOfRow = i + 1 == cells.size() || !CellUtil.matchingRows(cell, cells.get(i + 1));
      if (lastOfRow) {
        expect(name, "the place behind row of " + cell, scanner.seekTo(behind) == 1 && CellUtil.equals(cell, scanner.getCell()));
      }
    }
  }

  private static void askFilters(String name, StoreFileReader reader, List<Cell> cells) {
    BloomType expected = name.equals("bloom-none") || cells.isEmpty() ? BloomType.NONE : name.equals("bloom-rowcol") ? BloomType.ROWCOL : BloomType.ROW;
    expect(name, "a filter of type " + reader.getBloomFilterType() + " instead of " + expected,
      cells.isEmpty() || reader.getBloomFilterType() == expected);
    int deletedFamilies = 0;
    for (Cell cell : cells) {
      expect(name, "the filter's answer for " + cell, mayContain(reader, expected, cell));
      if (PrivateCellUtil.isDeleteFamily(cell) || PrivateCellUtil.isDeleteFamilyVersion(cell)) {
        deletedFamilies++;
        byte[] row = CellUtil.cloneRow(cell);
        expect(name, "the delete filter's answer for " + cell, reader.passesDeleteFamilyBloomFilter(row, 0, row.length));
      }
    }
    expect(name, "the count of deleted families", reader.getDeleteFamilyCnt() == deletedFamilies);
    if (expected != BloomType.NONE && cells.size() > 100) {
      int possible = 0;
      int asked = 2000;
      for (int i = 0; i < asked; i++) {
        byte[] row = ("row" + i + "-absent").getBytes(StandardCharsets.US_ASCII);
        possible += mayContain(reader, expected, new KeyValue(row, row, row)) ? 1 : 0;
      }
      expect(name, "the filter calls " + possible + " of " + asked + " absent keys possible", possible < asked * WRONG_ANSWERS_MAX);
    }
  }

  private static boolean mayContain(StoreFileReader reader, BloomType type, Cell cell) {
    switch (type) {
      case ROW:
        byte[] row = CellUtil.cloneRow(cell);
        return reader.getGeneralBloomFilter().contains(row, 0, row.length, null);
      case ROWCOL:
        return reader.passesGeneralRowColBloomFilter(cell);
      default:
        return true;
    }
  }

  /** Shows that a changed byte would have been noticed above. */
  private static void noticeDamage(Configuration configuration, HFileSystem files, java.nio.file.Path path) throws IOException {
    HFile.getAndResetChecksumFailuresCount();
    HStoreFile file = open(configuration, files, path);
    try {
      all(file.getReader());
    } catch (IOException | RuntimeException refused) {
      return;
    }
    expect(path.getFileName().toString(), "a changed byte goes unnoticed", HFile.getAndResetChecksumFailuresCount() > 0);
  }

  private static void expect(String name, String what, boolean holds) {
    if (!holds) {
      fault(name, what);
    }
  }

  private static void fault(String name, String what) {
    // A broken file has thousands of faults that say the same.
    if (++faults <= 20) {
      System.out.println(name + ": " + what);
    }
  }
}
