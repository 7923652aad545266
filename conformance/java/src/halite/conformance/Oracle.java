package halite.conformance;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HConstants.OperationStatusCode;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.*;
import org.apache.hadoop.hbase.regionserver.ChunkCreator;
import org.apache.hadoop.hbase.regionserver.HRegion;
import org.apache.hadoop.hbase.regionserver.HStore;
import org.apache.hadoop.hbase.regionserver.OperationStatus;
import org.apache.hadoop.hbase.regionserver.RegionScanner;
import org.apache.hadoop.hbase.regionserver.compactions.CompactionContext;
import org.apache.hadoop.hbase.regionserver.throttle.NoLimitThroughputController;
import org.apache.hadoop.hbase.util.CommonFSUtils;
import org.apache.hadoop.hbase.util.EnvironmentEdgeManager;
import org.apache.hadoop.hbase.util.TableDescriptorChecker;
import org.apache.hadoop.hbase.wal.WALFactory;

/** Runs commands on one HBase region in this process, under a clock that only the script moves. */
final class Oracle implements Closeable {
  private static final long CLOCK_START_MS = 1_000_000;

  private final Configuration conf;
  private final Path root;
  private final WALFactory wals;
  private int tables;
  private long clockMs = CLOCK_START_MS;
  private HRegion region;

  Oracle(java.nio.file.Path directory) throws IOException {
    conf = HBaseConfiguration.create();
    // No write-ahead log: nothing here recovers from one, and cases run several times faster.
    conf.setBoolean("hbase.regionserver.hlog.enabled", false);
    // Selection takes every file of a store that has at least two, and the time for a major compaction never comes.
    conf.setInt("hbase.hstore.compaction.min", 2);
    conf.setInt("hbase.hstore.compaction.max", 1000);
    conf.setLong("hbase.hstore.compaction.min.size", 1L << 30);
    conf.setLong("hbase.hregion.majorcompaction", 0);
    root = new Path(directory.toUri());
    CommonFSUtils.setRootDir(conf, root);
    CommonFSUtils.setWALRootDir(conf, root);
    ChunkCreator.initialize(2 * 1024 * 1024, false, 64L << 20, 0.2f, 0.5f, null, 0.1f);
    wals = new WALFactory(conf, "oracle");
    EnvironmentEdgeManager.injectEdge(() -> clockMs);
  }

  /** The answer to one command, a line each; empty for a command that answers nothing. */
  List<String> run(String line) throws IOException {
    Tokens words = new Tokens(line);
    try {
      return execute(words);
    } catch (IllegalStateException bad) {
      throw bad;
    } catch (Exception error) {
      return List.of("error: " + error.getClass().getSimpleName());
    }
  }

  private List<String> execute(Tokens words) throws IOException {
    if (Commands.isMutation(words.peek())) {
      return mutate(Commands.mutation(words));
    }
    String verb = words.next();
    switch (verb) {
      case "case":
        closeRegion();
        clockMs = CLOCK_START_MS;
        return List.of();
      case "create": return create(words);
      case "clock":
        clockMs = Long.parseLong(words.next());
        return List.of();
      case "advance":
        clockMs += Long.parseLong(words.next());
        return List.of();
      case "mutate": {
        Result result = region.mutateRow(Commands.rowMutations(words));
        return result == null || result.isEmpty() ? List.of() : cells(List.of(Arrays.asList(result.rawCells())));
      }
      case "batch": return batch(Commands.batch(words));
      case "check": return check(Commands.check(words));
      case "get": return get(Commands.get(words));
      case "scan": return scan(Commands.scan(words));
      case "flush":
        region.flush(true);
        return List.of();
      case "minor":
        minorCompaction();
        return List.of();
      case "compact":
        region.compact(false);
        return List.of();
      case "major":
        region.compact(true);
        return List.of();
      case "files": return files();
      default: throw new IllegalStateException("unknown command " + verb);
    }
  }

  /**
   * HBase's own selection takes every file of a store that has two or more; it is then told that these are not all,
   * because a compaction of all files drops delete markers whatever it is called.
   */
  private void minorCompaction() throws IOException {
    for (HStore store : region.getStores()) {
      Optional<CompactionContext> selected = store.requestCompaction();
      if (selected.isPresent()) {
        selected.get().getRequest().setIsMajor(false, false);
        region.compact(selected.get(), store, NoLimitThroughputController.INSTANCE);
      }
    }
  }

  private List<String> create(Tokens words) throws IOException {
    TableName name = TableName.valueOf("t" + tables++);
    TableDescriptor table = Commands.table(name, words);
    TableDescriptorChecker.sanityCheck(conf, table);
    RegionInfo info = RegionInfoBuilder.newBuilder(name).build();
    region = HRegion.createHRegion(info, root, conf, table, wals.getWAL(info));
    return List.of();
  }

  private List<String> mutate(Mutation mutation) throws IOException {
    if (mutation instanceof Put) {
      region.put((Put) mutation);
      return List.of();
    } else if (mutation instanceof Delete) {
      region.delete((Delete) mutation);
      return List.of();
    } else if (mutation instanceof Increment) {
      return result(region.increment((Increment) mutation));
    }
    return result(region.append((Append) mutation));
  }

  private List<String> batch(List<Mutation> mutations) throws IOException {
    List<String> out = new ArrayList<>();
    for (OperationStatus status : region.batchMutate(mutations.toArray(new Mutation[0]))) {
      OperationStatusCode code = status.getOperationStatusCode();
      // The region server turns this code into the exception before a client sees it.
      String error = code == OperationStatusCode.BAD_FAMILY ? "NoSuchColumnFamilyException" : code.toString();
      out.add(code == OperationStatusCode.SUCCESS ? "ok" : "error: " + error);
    }
    return out;
  }

  private List<String> check(CheckAndMutate check) throws IOException {
    CheckAndMutateResult answer = region.checkAndMutate(check);
    List<String> out = new ArrayList<>();
    out.add(answer.isSuccess() ? "true" : "false");
    if (answer.getResult() != null && !answer.getResult().isEmpty()) {
      out.addAll(cells(List.of(Arrays.asList(answer.getResult().rawCells()))));
    }
    return out;
  }

  private List<String> get(Get get) throws IOException {
    Result result = region.get(get);
    if (get.isCheckExistenceOnly()) {
      return List.of(result.getExists() ? "true" : "false");
    }
    return result(result);
  }

  private List<String> scan(Scan scan) throws IOException {
    int limit = scan.getLimit();
    List<List<Cell>> results = new ArrayList<>();
    int rows = 0;
    byte[] lastRow = null;
    try (RegionScanner scanner = region.getScanner(scan)) {
      boolean more;
      do {
        List<Cell> cells = new ArrayList<>();
        more = scanner.next(cells);
        if (cells.isEmpty()) {
          continue;
        }
        byte[] row = CellUtil.cloneRow(cells.get(0));
        if (!Arrays.equals(row, lastRow)) {
          if (limit > 0 && rows == limit) {
            break;
          }
          rows++;
          lastRow = row;
        }
        results.add(cells);
      } while (more);
    }
    return cells(results);
  }

  private List<String> files() {
    List<String> out = new ArrayList<>();
    for (HStore store : region.getStores()) {
      out.add(store.getColumnFamilyName() + " " + store.getStorefilesCount());
    }
    return out;
  }

  private static List<String> result(Result result) {
    if (result == null || result.isEmpty()) {
      return List.of("(empty)");
    }
    return cells(List.of(Arrays.asList(result.rawCells())));
  }

  /** One line a cell; a line of two dashes where a row goes on in a further result. */
  private static List<String> cells(List<List<Cell>> results) {
    List<String> out = new ArrayList<>();
    byte[] lastRow = null;
    for (List<Cell> result : results) {
      byte[] row = CellUtil.cloneRow(result.get(0));
      if (Arrays.equals(row, lastRow)) {
        out.add("--");
      }
      lastRow = row;
      for (Cell cell : result) {
        out.add(line(cell));
      }
    }
    return out.isEmpty() ? List.of("(empty)") : out;
  }

  private static String line(Cell cell) {
    return Text.token(CellUtil.cloneRow(cell)) + " " + Text.token(CellUtil.cloneFamily(cell)) + ":"
        + Text.qualifier(CellUtil.cloneQualifier(cell)) + " @" + cell.getTimestamp() + " " + cell.getType() + " = "
        + Text.token(CellUtil.cloneValue(cell));
  }

  private void closeRegion() throws IOException {
    if (region != null) {
      region.close(true);
      region = null;
    }
  }

  @Override
  public void close() throws IOException {
    closeRegion();
    EnvironmentEdgeManager.reset();
  }
}
