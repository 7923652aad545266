import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;

/** Flush, compaction, split and merge, asked for by a client. */
final class Regions {
  private Regions() {
  }

  static void run(Fixture fixture) throws Exception {
    try (Table table = fixture.table("regions", "h", "p"); Admin admin = fixture.connection.getAdmin()) {
      fixture.out.run("fill", () -> table.put(rows()));
      files(fixture, table, admin);
      split(fixture, table, admin);
      merge(fixture, table, admin);
    }
    fixture.drop("regions");
  }

  private static List<Put> rows() {
    List<Put> puts = new ArrayList<>();
    for (char first = 'a'; first <= 'z'; first++) {
      for (int number = 0; number < 10; number++) {
        puts.add(new Put(Fixture.b("" + first + number)).addColumn(Fixture.F, Fixture.b("q"), 1, Fixture.b("v")));
      }
    }
    return puts;
  }

  private static void files(Fixture fixture, Table table, Admin admin) throws Exception {
    Transcript out = fixture.out;
    out.run("flush", () -> admin.flush(table.getName()));
    out.run("delete rows", () -> {
      for (char first = 'b'; first <= 'e'; first++) {
        table.delete(new Delete(Fixture.b(first + "0")));
      }
    });
    out.run("flush again", () -> admin.flush(table.getName()));
    out.run("compact", () -> admin.compact(table.getName()));
    out.run("major compact", () -> admin.majorCompact(table.getName()));
    fixture.await("no compaction runs any more", () -> admin.getCompactionState(table.getName()) == CompactionState.NONE);
    fixture.await("no marker is left", () -> Fixture.all(table, new Scan().setRaw(true)).size() == 256);
    out.call("rows", () -> Fixture.all(table, new Scan()).size());
    RegionInfo first = sorted(admin, table).get(0);
    out.run("flush a region", () -> admin.flushRegion(first.getRegionName()));
    out.run("compact a region", () -> admin.compactRegion(first.getRegionName()));
    out.run("flush a region that is not there", () -> admin.flushRegion(Fixture.b("nothing")));
  }

  private static void split(Fixture fixture, Table table, Admin admin) throws Exception {
    Transcript out = fixture.out;
    try (ResultScanner open = table.getScanner(new Scan().setCaching(1))) {
      out.call("a scan begun before", open::next);
      out.run("split at d5", () -> admin.split(table.getName(), Fixture.b("d5")));
      fixture.await("4 regions", () -> sorted(admin, table).size() == 4);
      Creating.regions(fixture, "regions");
      out.call("the scan goes on", () -> {
        int more = 0;
        while (open.next() != null) {
          more++;
        }
        return more;
      });
    }
    out.call("rows", () -> Fixture.all(table, new Scan()).size());
    out.call("rows backwards over the split", () -> Scans.keys(Fixture.all(table, new Scan().withStartRow(Fixture.b("d7")).setReversed(true).setLimit(5))));
    out.run("put into both halves", () -> table.put(List.of(new Put(Fixture.b("d4x")).addColumn(Fixture.F, Fixture.b("q"), 1, Fixture.b("v")),
      new Put(Fixture.b("d6x")).addColumn(Fixture.F, Fixture.b("q"), 1, Fixture.b("v")))));
    out.call("rows", () -> Fixture.all(table, new Scan()).size());
    out.run("split at a region's start", () -> admin.split(table.getName(), Fixture.b("p")));
    out.call("split a region outside of it", () -> admin.splitRegionAsync(sorted(admin, table).get(3).getRegionName(), Fixture.b("a")).get());
  }

  private static void merge(Fixture fixture, Table table, Admin admin) throws Exception {
    Transcript out = fixture.out;
    List<RegionInfo> regions = sorted(admin, table);
    out.call("merge regions that are not neighbours", () -> admin.mergeRegionsAsync(
      new byte[][] {regions.get(1).getEncodedNameAsBytes(), regions.get(3).getEncodedNameAsBytes()}, false).get());
    out.call("merge a region with itself", () -> admin.mergeRegionsAsync(
      new byte[][] {regions.get(2).getEncodedNameAsBytes(), regions.get(2).getEncodedNameAsBytes()}, false).get());
    out.run("merge the last two", () -> admin.mergeRegionsAsync(
      new byte[][] {regions.get(2).getEncodedNameAsBytes(), regions.get(3).getEncodedNameAsBytes()}, false).get());
    fixture.await("3 regions", () -> sorted(admin, table).size() == 3);
    Creating.regions(fixture, "regions");
    out.call("rows", () -> Fixture.all(table, new Scan()).size());
    out.call("rows backwards", () -> Scans.keys(Fixture.all(table, new Scan().setReversed(true).setLimit(3))));
  }

  private static List<RegionInfo> sorted(Admin admin, Table table) throws java.io.IOException {
    return admin.getRegions(table.getName()).stream().sorted(Comparator.comparing(RegionInfo::getStartKey, Bytes.BYTES_COMPARATOR)).toList();
  }
}
