import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.fs.HFileSystem;
import org.apache.hadoop.hbase.regionserver.ChunkCreator;
import org.apache.hadoop.hbase.regionserver.HRegion;
import org.apache.hadoop.hbase.regionserver.HRegionFileSystem;
import org.apache.hadoop.hbase.regionserver.RegionScanner;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.CommonFSUtils;
import org.apache.hadoop.hbase.util.FSTableDescriptors;
import org.apache.hadoop.hbase.util.FSUtils;

/**
 * Opens every region below a data directory with HBase's own region engine, read-only, and prints what it finds: tables
 * and families as their descriptors say, regions in key order, and each cell of a scan and of a raw scan of all versions.
 */
public final class ReadDirectory {
  public static void main(String[] arguments) throws Exception {
    java.nio.file.Path folder = java.nio.file.Path.of(arguments[0]).toAbsolutePath();
    Configuration configuration = HBaseConfiguration.create();
    Path root = new Path(folder.toUri());
    CommonFSUtils.setRootDir(configuration, root);
    ChunkCreator.initialize(2 * 1024 * 1024, false, 64L << 20, 0.2f, 0.5f, null, 0.1f);
    HFileSystem files = new HFileSystem(configuration, true);
    try (PrintStream out = new PrintStream(arguments[1], StandardCharsets.UTF_8)) {
      out.println("version " + FSUtils.getVersion(files, root));
      List<Path> tables = new ArrayList<>(FSUtils.getTableDirs(files, root));
      tables.sort(Comparator.comparing(Path::toString));
      for (Path table : tables) {
        readTable(configuration, files, table, out);
      }
    }
    // HBase's own threads would keep the process.
    System.exit(0);
  }

  private static void readTable(Configuration configuration, HFileSystem files, Path path, PrintStream out) throws IOException {
    TableDescriptor table = FSTableDescriptors.getTableDescriptorFromFs(files, path);
    out.println("table " + table.getTableName());
    for (ColumnFamilyDescriptor family : table.getColumnFamilies()) {
      out.println("family " + family.getNameAsString() + " versions " + family.getMaxVersions() + " compression " + family.getCompressionType()
        + " bloom " + family.getBloomFilterType());
    }
    List<RegionInfo> regions = new ArrayList<>();
    for (Path directory : FSUtils.getRegionDirs(files, path)) {
      regions.add(HRegionFileSystem.loadRegionInfoFileContent(files, directory));
    }
    // A region that was split stays until nothing refers to its files; which ones that are, HBase notes in hbase:meta only.
    // Here it shows by younger regions that begin inside it.
    regions.sort(RegionInfo.COMPARATOR);
    for (RegionInfo info : regions) {
      if (regions.stream().anyMatch(other -> other.getRegionId() > info.getRegionId() && info.containsRow(other.getStartKey()))) {
        continue;
      }
      out.println("region " + Bytes.toStringBinary(info.getStartKey()) + " " + info.getEncodedName());
      HRegion region = HRegion.openReadOnlyFileSystemHRegion(configuration, files, path, info, table);
      print(region, new Scan(), "cell", out);
      print(region, new Scan().setRaw(true).readAllVersions(), "raw", out);
      region.close();
    }
  }

  private static void print(HRegion region, Scan scan, String word, PrintStream out) throws IOException {
    List<Cell> cells = new ArrayList<>();
    try (RegionScanner scanner = region.getScanner(scan)) {
      boolean more = true;
      while (more) {
        cells.clear();
        more = scanner.next(cells);
        for (Cell cell : cells) {
          out.println(word + " " + Bytes.toStringBinary(CellUtil.cloneRow(cell)) + " " + Bytes.toStringBinary(CellUtil.cloneFamily(cell)) + ":"
            + Bytes.toStringBinary(CellUtil.cloneQualifier(cell)) + " " + cell.getTimestamp() + " " + cell.getType() + " = "
            + Bytes.toStringBinary(CellUtil.cloneValue(cell)));
        }
      }
    }
  }
}
