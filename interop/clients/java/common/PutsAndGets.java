import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hbase.client.Durability;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.filter.BinaryComparator;
import org.apache.hadoop.hbase.filter.QualifierFilter;
import org.apache.hadoop.hbase.CompareOperator;

/** Single puts and gets in all their forms. */
final class PutsAndGets {
  private PutsAndGets() {
  }

  static void run(Fixture fixture) throws Exception {
    try (Table table = fixture.table("get", "m")) {
      puts(fixture.out, table);
      gets(fixture.out, table);
      limits(fixture.out, table);
      several(fixture.out, table);
      serverTime(fixture.out, table);
    }
    fixture.drop("get");
  }

  private static void puts(Transcript out, Table table) {
    for (int version = 1; version <= 5; version++) {
      Put put = new Put(Fixture.b("a")).addColumn(Fixture.F, Fixture.b("q"), version * 10, Fixture.b("v" + version));
      out.run("put version " + version, () -> table.put(put));
    }
    Put wide = new Put(Fixture.b("b"), 100);
    for (int column = 9; column >= 0; column--) {
      wide.addColumn(Fixture.F, Fixture.b("c" + column), Fixture.b("f" + column)).addColumn(Fixture.G, Fixture.b("c" + column), Fixture.b("g" + column));
    }
    out.run("put wide, columns not in order", () -> table.put(wide));
    out.run("put empty qualifier and value", () -> table.put(new Put(Fixture.b("e")).addColumn(Fixture.F, new byte[0], 1, new byte[0])));
    out.run("put bytes", () -> table.put(new Put(new byte[] {0, -1, 127}).addColumn(Fixture.G, new byte[] {0, 1}, 1, new byte[] {-128, 0})));
    out.run("put far in the future", () -> table.put(new Put(Fixture.b("future")).addColumn(Fixture.F, Fixture.b("q"), Long.MAX_VALUE - 1, Fixture.b("v"))));
    out.run("put at zero", () -> table.put(new Put(Fixture.b("zero")).addColumn(Fixture.F, Fixture.b("q"), 0, Fixture.b("v"))));
    out.run("put the same twice", () -> {
      table.put(new Put(Fixture.b("twice")).addColumn(Fixture.F, Fixture.b("q"), 7, Fixture.b("first")));
      table.put(new Put(Fixture.b("twice")).addColumn(Fixture.F, Fixture.b("q"), 7, Fixture.b("second")));
    });
    for (Durability durability : Durability.values()) {
      Put put = new Put(Fixture.b("durable")).addColumn(Fixture.F, Fixture.b(durability.name()), 1, Fixture.b("v"));
      out.run("put " + durability, () -> table.put(put.setDurability(durability)));
    }
    byte[] large = new byte[3_000_000];
    java.util.Arrays.fill(large, (byte) 'x');
    out.run("put 3 MB", () -> table.put(new Put(Fixture.b("zlarge")).addColumn(Fixture.F, Fixture.b("q"), 1, large)));
  }

  private static void gets(Transcript out, Table table) {
    out.call("get", () -> table.get(new Get(Fixture.b("a"))));
    out.call("get all versions", () -> table.get(new Get(Fixture.b("a")).readAllVersions()));
    out.call("get 2 versions", () -> table.get(new Get(Fixture.b("a")).readVersions(2)));
    out.call("get at 30", () -> table.get(new Get(Fixture.b("a")).setTimestamp(30)));
    out.call("get at 10, beyond the versions", () -> table.get(new Get(Fixture.b("a")).setTimestamp(10)));
    out.call("get before 50", () -> table.get(new Get(Fixture.b("a")).setTimeRange(0, 50).readAllVersions()));
    out.call("get with a range for the family", () -> table.get(new Get(Fixture.b("a")).setColumnFamilyTimeRange(Fixture.F, 30, 41).readAllVersions()));
    out.call("get a row that is not there", () -> table.get(new Get(Fixture.b("nothing"))));
    out.call("get wide", () -> table.get(new Get(Fixture.b("b"))));
    out.call("get one family", () -> table.get(new Get(Fixture.b("b")).addFamily(Fixture.G)));
    out.call("get columns", () -> table.get(new Get(Fixture.b("b")).addColumn(Fixture.G, Fixture.b("c3")).addColumn(Fixture.F, Fixture.b("c5"))
      .addColumn(Fixture.F, Fixture.b("none"))));
    out.call("get a family and a column of the other", () -> table.get(new Get(Fixture.b("b")).addFamily(Fixture.F).addColumn(Fixture.G, Fixture.b("c0"))));
    out.call("get with a filter", () -> table.get(new Get(Fixture.b("b")).setFilter(
      new QualifierFilter(CompareOperator.GREATER_OR_EQUAL, new BinaryComparator(Fixture.b("c8"))))));
    out.call("get empty qualifier", () -> table.get(new Get(Fixture.b("e")).addColumn(Fixture.F, new byte[0])));
    out.call("get bytes", () -> table.get(new Get(new byte[] {0, -1, 127})));
    out.call("get future", () -> table.get(new Get(Fixture.b("future"))));
    out.call("get zero", () -> table.get(new Get(Fixture.b("zero"))));
    out.call("get twice", () -> table.get(new Get(Fixture.b("twice")).readAllVersions()));
    out.call("get durable", () -> table.get(new Get(Fixture.b("durable"))));
    out.call("get large", () -> table.get(new Get(Fixture.b("zlarge"))));
  }

  private static void limits(Transcript out, Table table) {
    out.call("3 results of a family", () -> table.get(new Get(Fixture.b("b")).setMaxResultsPerColumnFamily(3)));
    out.call("3 results of a family from the 4th", () -> table.get(new Get(Fixture.b("b")).setMaxResultsPerColumnFamily(3).setRowOffsetPerColumnFamily(4)));
    out.call("from the 8th of a family", () -> table.get(new Get(Fixture.b("b")).setRowOffsetPerColumnFamily(8)));
    out.call("existence only", () -> table.get(new Get(Fixture.b("b")).setCheckExistenceOnly(true)));
    out.call("existence only, not there", () -> table.get(new Get(Fixture.b("nothing")).setCheckExistenceOnly(true)));
    out.call("no versions", () -> table.get(new Get(Fixture.b("a")).readVersions(0)));
  }

  private static void several(Transcript out, Table table) {
    List<Get> gets = new ArrayList<>();
    for (String row : List.of("zero", "a", "nothing", "b", "a")) {
      gets.add(new Get(Fixture.b(row)).addColumn(Fixture.F, Fixture.b("q")).addColumn(Fixture.F, Fixture.b("c1")));
    }
    out.call("several gets", () -> table.get(gets));
    out.call("exists", () -> table.exists(new Get(Fixture.b("a"))));
    out.call("exists a column", () -> table.exists(new Get(Fixture.b("a")).addColumn(Fixture.G, Fixture.b("q"))));
    out.call("exist", () -> table.exists(gets));
    List<Put> puts = new ArrayList<>();
    for (int row = 0; row < 20; row++) {
      puts.add(new Put(Fixture.b(row % 2 == 0 ? "many" + row : "zmany" + row)).addColumn(Fixture.F, Fixture.b("q"), 1, Fixture.b("v" + row)));
    }
    out.run("several puts", () -> table.put(puts));
    out.call("they are there", () -> {
      Result[] results = table.get(puts.stream().map(put -> new Get(put.getRow())).toList());
      return java.util.Arrays.stream(results).filter(result -> !result.isEmpty()).count();
    });
  }

  private static void serverTime(Transcript out, Table table) {
    out.run("put without a time", () -> table.put(new Put(Fixture.b("now")).addColumn(Fixture.F, Fixture.b("q"), Fixture.b("v"))));
    out.call("get without a time", () -> table.get(new Get(Fixture.b("now"))));
    out.call("the server's time is the time", () -> {
      long given = table.get(new Get(Fixture.b("now"))).rawCells()[0].getTimestamp();
      return Math.abs(System.currentTimeMillis() - given) < 60_000;
    });
    out.run("put that lives for a day", () -> table.put(new Put(Fixture.b("ttl")).addColumn(Fixture.F, Fixture.b("q"), Fixture.b("v")).setTTL(86_400_000)));
    out.run("put that lived for a moment", () -> table.put(new Put(Fixture.b("ttl")).addColumn(Fixture.F, Fixture.b("old"), 1, Fixture.b("v")).setTTL(1000)));
    out.call("get what lives", () -> table.get(new Get(Fixture.b("ttl"))));
  }
}
