import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.KeepDeletedCells;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Durability;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.Pair;

/** Tables with settings and split points, and what the server says of them afterwards. */
final class Creating {
  private Creating() {
  }

  static void run(Fixture fixture) throws Exception {
    Transcript out = fixture.out;
    try (Admin admin = fixture.connection.getAdmin()) {
      fixture.table("plain").close();
      describe(fixture, admin, "plain");
      fixture.table(settings(), "b", "k", "x").close();
      describe(fixture, admin, "settings");
      out.run("create with a range and a number", () -> admin.createTable(
        TableDescriptorBuilder.newBuilder(Fixture.name("ranges")).setColumnFamily(ColumnFamilyDescriptorBuilder.of("f")).build(),
        Fixture.b("10"), Fixture.b("50"), 5));
      regions(fixture, "ranges");
      out.call("exists", () -> admin.tableExists(Fixture.name("plain")));
      out.call("exists, one that is not there", () -> admin.tableExists(Fixture.name("absent")));
      out.call("available", () -> admin.isTableAvailable(Fixture.name("settings")));
      out.call("names by pattern", () -> admin.listTableNames(Fixture.OURS));
      out.call("descriptors by pattern", () -> admin.listTableDescriptors(Fixture.OURS).stream().map(TableDescriptor::getTableName).toList());
    }
    fixture.drop("plain", "settings", "ranges");
  }

  private static TableDescriptor settings() {
    ColumnFamilyDescriptor rich = ColumnFamilyDescriptorBuilder.newBuilder(Fixture.F).setMaxVersions(7).setMinVersions(2).setTimeToLive(86400)
      .setKeepDeletedCells(KeepDeletedCells.TTL).setBlocksize(8192).setBloomFilterType(BloomType.ROWCOL).setBlockCacheEnabled(false).setInMemory(true)
      .setDataBlockEncoding(DataBlockEncoding.FAST_DIFF).setScope(1).setValue(Fixture.b("OWNER_NOTE"), Fixture.b("ours")).build();
    return TableDescriptorBuilder.newBuilder(Fixture.name("settings")).setColumnFamily(rich).setColumnFamily(ColumnFamilyDescriptorBuilder.of("g"))
      .setDurability(Durability.ASYNC_WAL).setMaxFileSize(1L << 30).setMemStoreFlushSize(64L << 20).setReadOnly(false)
      .setValue("made.for", "a test").build();
  }

  static void describe(Fixture fixture, Admin admin, String last) {
    Transcript out = fixture.out;
    out.call("settings of " + last, () -> {
      TableDescriptor table = admin.getDescriptor(Fixture.name(last));
      List<String> lines = new ArrayList<>(sorted("table", table.getValues()));
      for (ColumnFamilyDescriptor family : table.getColumnFamilies()) {
        lines.addAll(sorted(family.getNameAsString(), family.getValues()));
      }
      return lines;
    });
    regions(fixture, last);
  }

  private static List<String> sorted(String what, Map<Bytes, Bytes> values) {
    return values.entrySet().stream().map(entry -> what + " " + text(entry.getKey()) + " = " + text(entry.getValue())).sorted().toList();
  }

  private static String text(Bytes bytes) {
    return Bytes.toStringBinary(bytes.get(), bytes.getOffset(), bytes.getLength());
  }

  static void regions(Fixture fixture, String last) {
    fixture.out.call("regions of " + last, () -> {
      try (Admin admin = fixture.connection.getAdmin()) {
        return admin.getRegions(Fixture.name(last)).stream().sorted(Comparator.comparing(RegionInfo::getStartKey, Bytes.BYTES_COMPARATOR))
          .map(Creating::range).toList();
      }
    });
    fixture.out.call("locations of " + last, () -> {
      try (RegionLocator locator = fixture.connection.getRegionLocator(Fixture.name(last))) {
        Pair<byte[][], byte[][]> keys = locator.getStartEndKeys();
        HRegionLocation first = locator.getRegionLocation(new byte[0], true);
        HRegionLocation middle = locator.getRegionLocation(Fixture.b("m"), true);
        return keys.getFirst().length + " start keys, first row in " + range(first.getRegion()) + ", m in " + range(middle.getRegion()) + ", "
          + locator.getAllRegionLocations().size() + " in all";
      }
    });
  }

  static String range(RegionInfo region) {
    return "[" + Bytes.toStringBinary(region.getStartKey()) + ", " + Bytes.toStringBinary(region.getEndKey()) + ") replica " + region.getReplicaId()
      + (region.isSplitParent() ? " split" : "") + (region.isOffline() ? " offline" : "");
  }
}
