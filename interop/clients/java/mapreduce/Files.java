import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.CellBuilderFactory;
import org.apache.hadoop.hbase.CellBuilderType;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFileContext;
import org.apache.hadoop.hbase.io.hfile.HFileContextBuilder;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.regionserver.StoreFileWriter;
import org.apache.hadoop.hbase.util.Bytes;

/** The folder in which store files are made, and HBase's writer for them. */
final class Files {
  final Configuration configuration;
  final FileSystem system;
  private final Path folder;

  Files(Configuration configuration, String folder) throws IOException {
    this.configuration = configuration;
    this.system = FileSystem.getLocal(configuration);
    this.folder = system.makeQualified(new Path(folder));
  }

  Path path(String name) {
    return new Path(folder, name);
  }

  Path text(String name, String... lines) throws IOException {
    Path path = path(name);
    try (var out = system.create(path)) {
      out.write((String.join("\n", lines) + "\n").getBytes(StandardCharsets.UTF_8));
    }
    return path;
  }

  static Cell put(String row, String family, long time, String value) {
    return CellBuilderFactory.create(CellBuilderType.DEEP_COPY).setRow(Bytes.toBytes(row)).setFamily(Bytes.toBytes(family))
      .setQualifier(Bytes.toBytes("q")).setTimestamp(time).setType(Cell.Type.Put).setValue(Bytes.toBytes(value)).build();
  }

  /** A file below `name/family` with a cell of column `q` at time 5 for each row. */
  Path rows(String name, String family, String value, String... rows) throws IOException {
    List<Cell> cells = new ArrayList<>();
    for (String row : rows) {
      cells.add(put(row, family, 5, value));
    }
    return write(name + "/" + family + "/file", DataBlockEncoding.NONE, Compression.Algorithm.NONE, cells);
  }

  Path write(String name, DataBlockEncoding encoding, Compression.Algorithm compression, List<Cell> cells) throws IOException {
    Path path = path(name);
    HFileContext context = new HFileContextBuilder().withBlockSize(256).withDataBlockEncoding(encoding).withCompression(compression)
      .withIncludesMvcc(false).withCellComparator(org.apache.hadoop.hbase.CellComparatorImpl.COMPARATOR).build();
    StoreFileWriter writer = new StoreFileWriter.Builder(configuration, new CacheConfig(configuration), system).withFilePath(path)
      .withBloomType(BloomType.ROWCOL).withFileContext(context).build();
    for (Cell cell : cells) {
      writer.append(KeyValue.class.isInstance(cell) ? cell : new KeyValue(cell));
    }
    writer.appendFileInfo(org.apache.hadoop.hbase.regionserver.HStoreFile.BULKLOAD_TIME_KEY, Bytes.toBytes(1L));
    writer.close();
    return path;
  }

  /** The files in the folders of families: how many, those that begin with `_` or `.` left out. */
  int count(String name, String family) throws IOException {
    Path directory = new Path(path(name), family);
    int count = 0;
    for (FileStatus file : system.exists(directory) ? system.listStatus(directory) : new FileStatus[0]) {
      count += file.isFile() && !file.getPath().getName().startsWith("_") && !file.getPath().getName().startsWith(".") ? 1 : 0;
    }
    return count;
  }

  boolean exists(Path path) throws IOException {
    return system.exists(path);
  }
}
