import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hbase.client.IsolationLevel;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.metrics.ScanMetrics;
import org.apache.hadoop.hbase.util.Bytes;

/** Which rows and cells a scan gives: ranges, directions, columns, times, limits, over four regions. */
final class Scans {
  private Scans() {
  }

  static void run(Fixture fixture) throws Exception {
    try (Table table = fixture.table("scan", "d", "h", "l")) {
      fixture.out.run("fill", () -> table.put(rows()));
      ranges(fixture, table);
      backwards(fixture, table);
      columns(fixture, table);
      limits(fixture, table);
      metrics(fixture.out, table);
      scanners(fixture.out, table);
    }
    fixture.drop("scan");
  }

  /** Rows `a` to `p`; each third has a family `g`, and versions at 10, 20 and 30. */
  static List<Put> rows() {
    List<Put> puts = new ArrayList<>();
    for (char row = 'a'; row <= 'p'; row++) {
      byte[] key = Fixture.b(String.valueOf(row));
      puts.add(new Put(key).addColumn(Fixture.F, Fixture.b("x"), 10, Fixture.b("x" + row)).addColumn(Fixture.F, Fixture.b("y"), 20, Fixture.b("y" + row)));
      if ((row - 'a') % 3 == 0) {
        puts.add(new Put(key).addColumn(Fixture.G, Fixture.b("z"), 20, Fixture.b("z" + row)).addColumn(Fixture.F, Fixture.b("x"), 20, Fixture.b("newer" + row))
          .addColumn(Fixture.F, Fixture.b("x"), 30, Fixture.b("newest" + row)));
      }
    }
    return puts;
  }

  private static Scan scan(String start, String stop) {
    return new Scan().withStartRow(Fixture.b(start)).withStopRow(Fixture.b(stop));
  }

  private static void ranges(Fixture fixture, Table table) {
    fixture.scan("all", table, new Scan());
    fixture.scan("c to i", table, scan("c", "i"));
    fixture.scan("after c to i and it", table, new Scan().withStartRow(Fixture.b("c"), false).withStopRow(Fixture.b("i"), true));
    fixture.scan("one row", table, new Scan().withStartRow(Fixture.b("h")).withStopRow(Fixture.b("h"), true));
    fixture.scan("between rows", table, scan("c0", "c9"));
    fixture.scan("from n", table, new Scan().withStartRow(Fixture.b("n")));
    fixture.scan("to b", table, new Scan().withStopRow(Fixture.b("b")));
    fixture.scan("of a prefix", table, new Scan().setRowPrefixFilter(Fixture.b("k")));
    fixture.scan("from the end to the start", table, scan("i", "c"));
    fixture.scan("beyond the end", table, new Scan().withStartRow(Fixture.b("q")));
    fixture.scan("a region's bounds", table, scan("d", "h"));
  }

  private static void backwards(Fixture fixture, Table table) {
    fixture.scan("backwards", table, new Scan().setReversed(true).addColumn(Fixture.F, Fixture.b("y")));
    fixture.scan("backwards from i to c", table, new Scan().withStartRow(Fixture.b("i")).withStopRow(Fixture.b("c")).setReversed(true));
    fixture.scan("backwards before i to c and it", table,
      new Scan().withStartRow(Fixture.b("i"), false).withStopRow(Fixture.b("c"), true).setReversed(true).addFamily(Fixture.G));
    fixture.scan("backwards from between rows", table, new Scan().withStartRow(Fixture.b("hh")).setReversed(true).setLimit(2));
    fixture.scan("backwards, one row at a time", table, new Scan().setReversed(true).setCaching(1).addFamily(Fixture.G));
  }

  private static void columns(Fixture fixture, Table table) throws java.io.IOException {
    fixture.scan("one family", table, new Scan().addFamily(Fixture.G));
    fixture.scan("two columns", table, scan("a", "e").addColumn(Fixture.F, Fixture.b("y")).addColumn(Fixture.G, Fixture.b("z")));
    fixture.scan("all versions", table, scan("a", "e").readAllVersions());
    fixture.scan("two versions", table, scan("a", "e").readVersions(2));
    fixture.scan("up to 20", table, scan("a", "e").setTimeRange(0, 20).readAllVersions());
    fixture.scan("at 30", table, new Scan().setTimestamp(30));
    fixture.scan("with a range for a family", table, scan("a", "e").setColumnFamilyTimeRange(Fixture.F, 0, 15).readAllVersions());
    fixture.scan("a family that is not there", table, new Scan().addFamily(Fixture.b("nofamily")));
    fixture.scan("one cell of each family", table, scan("a", "e").setMaxResultsPerColumnFamily(1));
    fixture.scan("one cell of each family from the second", table, scan("a", "e").setMaxResultsPerColumnFamily(1).setRowOffsetPerColumnFamily(1));
    fixture.scan("not yet committed", table, scan("a", "c").setIsolationLevel(IsolationLevel.READ_UNCOMMITTED));
    for (Scan.ReadType type : Scan.ReadType.values()) {
      fixture.scan("read as " + type, table, scan("g", "i").setReadType(type).setCacheBlocks(false));
    }
  }

  private static void limits(Fixture fixture, Table table) {
    fixture.scan("5 rows", table, new Scan().setLimit(5).addColumn(Fixture.F, Fixture.b("y")));
    fixture.scan("5 rows, 2 at a time", table, new Scan().setLimit(5).setCaching(2).addColumn(Fixture.F, Fixture.b("y")));
    fixture.scan("a row", table, new Scan().withStartRow(Fixture.b("g")).setOneRowLimit());
    for (int caching : new int[] {1, 3, 100}) {
      fixture.out.call("rows with caching " + caching, () -> keys(Fixture.all(table, new Scan().setCaching(caching))));
    }
    fixture.out.call("rows with a small size", () -> keys(Fixture.all(table, new Scan().setMaxResultSize(1))));
    fixture.out.call("rows, asked for cursors", () -> keys(Fixture.all(table, new Scan().setNeedCursorResult(true)).stream().filter(row -> !row.isCursor()).toList()));
    fixture.out.call("rows, prefetched", () -> keys(Fixture.all(table, new Scan().setAsyncPrefetch(true).setCaching(2))));
  }

  static String keys(List<Result> results) {
    StringBuilder text = new StringBuilder();
    results.forEach(result -> text.append(Bytes.toStringBinary(result.getRow())).append(' '));
    return text.toString().trim();
  }

  private static void metrics(Transcript out, Table table) {
    out.call("measured", () -> {
      try (ResultScanner scanner = table.getScanner(new Scan().setScanMetricsEnabled(true).addFamily(Fixture.F))) {
        int rows = 0;
        while (scanner.next() != null) {
          rows++;
        }
        ScanMetrics metrics = scanner.getScanMetrics();
        return rows + " rows, " + metrics.countOfRegions.get() + " regions, scanned " + metrics.countOfRowsScanned.get() + ", filtered "
          + metrics.countOfRowsFiltered.get();
      }
    });
    out.call("measured, filtered", () -> {
      Scan scan = new Scan().setScanMetricsEnabled(true).setFilter(new org.apache.hadoop.hbase.filter.RowFilter(
        org.apache.hadoop.hbase.CompareOperator.EQUAL, new org.apache.hadoop.hbase.filter.RegexStringComparator("[aeio]")));
      try (ResultScanner scanner = table.getScanner(scan)) {
        int rows = 0;
        while (scanner.next() != null) {
          rows++;
        }
        ScanMetrics metrics = scanner.getScanMetrics();
        return rows + " rows, scanned " + metrics.countOfRowsScanned.get() + ", filtered " + metrics.countOfRowsFiltered.get();
      }
    });
  }

  private static void scanners(Transcript out, Table table) {
    out.call("a few at a time", () -> {
      List<String> groups = new ArrayList<>();
      try (ResultScanner scanner = table.getScanner(new Scan().setCaching(2))) {
        for (Result[] group = scanner.next(5); group.length > 0; group = scanner.next(5)) {
          groups.add(keys(List.of(group)));
        }
      }
      return groups;
    });
    out.call("renewed and closed early", () -> {
      try (ResultScanner scanner = table.getScanner(new Scan().setCaching(1))) {
        String first = keys(List.of(scanner.next()));
        boolean renewed = scanner.renewLease();
        return first + ", renewed " + renewed + ", then " + keys(List.of(scanner.next()));
      }
    });
    out.call("two at once", () -> {
      try (ResultScanner one = table.getScanner(new Scan().setCaching(1)); ResultScanner two = table.getScanner(new Scan().setCaching(1).setReversed(true))) {
        return keys(List.of(one.next(), two.next(), one.next(), two.next()));
      }
    });
  }
}
