import java.util.List;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Increment;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;

/** What cannot be done, and the exceptions that say so. */
final class Errors {
  private static final byte[] Q = Fixture.b("q");

  private Errors() {
  }

  static void run(Fixture fixture) throws Exception {
    try (Admin admin = fixture.connection.getAdmin()) {
      missing(fixture, admin);
      creation(fixture, admin);
      disabled(fixture, admin);
      cells(fixture);
    }
  }

  private static void missing(Fixture fixture, Admin admin) throws Exception {
    Transcript out = fixture.out;
    TableName name = Fixture.name("absent");
    try (Table table = fixture.connection.getTable(name)) {
      out.call("get from a table that is not there", () -> table.get(new Get(Fixture.b("r"))));
      out.run("put", () -> table.put(new Put(Fixture.b("r")).addColumn(Fixture.F, Q, Fixture.b("v"))));
      out.run("puts", () -> table.put(List.of(new Put(Fixture.b("r")).addColumn(Fixture.F, Q, Fixture.b("v")))));
      fixture.scan("scan", table, new Scan());
      out.call("describe", table::getDescriptor);
    }
    out.run("disable", () -> admin.disableTable(name));
    out.run("enable", () -> admin.enableTable(name));
    out.run("delete", () -> admin.deleteTable(name));
    out.run("truncate", () -> admin.truncateTable(name, false));
    out.run("alter", () -> admin.addColumnFamily(name, ColumnFamilyDescriptorBuilder.of("f")));
    out.run("flush", () -> admin.flush(name));
    out.run("compact", () -> admin.compact(name));
    out.run("split", () -> admin.split(name));
    out.call("regions", () -> admin.getRegions(name));
    out.call("enabled", () -> admin.isTableEnabled(name));
    out.call("get where no namespace is", () -> {
      try (Table table = fixture.connection.getTable(TableName.valueOf("jt_nowhere:t"))) {
        return table.get(new Get(Fixture.b("r")));
      }
    });
  }

  private static void creation(Fixture fixture, Admin admin) throws Exception {
    Transcript out = fixture.out;
    TableDescriptorBuilder builder = TableDescriptorBuilder.newBuilder(Fixture.name("errors"));
    out.run("create without a family", () -> admin.createTable(builder.build()));
    builder.setColumnFamily(ColumnFamilyDescriptorBuilder.of("f"));
    out.run("create with two equal splits", () -> admin.createTable(builder.build(), new byte[][] {Fixture.b("a"), Fixture.b("a")}));
    out.run("create with an empty split", () -> admin.createTable(builder.build(), new byte[][] {Fixture.b("a"), new byte[0]}));
    out.run("create with splits not in order", () -> admin.createTable(builder.build(), new byte[][] {Fixture.b("m"), Fixture.b("c")}));
    Creating.regions(fixture, "errors");
    out.run("create again", () -> admin.createTable(builder.build()));
    fixture.drop("errors");
    out.run("create with a memstore of nothing", () -> admin.createTable(TableDescriptorBuilder.newBuilder(builder.build()).setMemStoreFlushSize(1).build()));
    out.run("create with a small file", () -> admin.createTable(TableDescriptorBuilder.newBuilder(builder.build()).setMaxFileSize(1).build()));
    out.run("create with less than no versions", () -> admin.createTable(TableDescriptorBuilder.newBuilder(Fixture.name("errors"))
      .setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(Fixture.F).setMinVersions(5).setMaxVersions(2).build()).build()));
    out.run("create with no time to live", () -> admin.createTable(TableDescriptorBuilder.newBuilder(Fixture.name("errors"))
      .setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(Fixture.F).setTimeToLive(0).build()).build()));
    out.run("create with tiny blocks", () -> admin.createTable(TableDescriptorBuilder.newBuilder(Fixture.name("errors"))
      .setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(Fixture.F).setBlocksize(10).build()).build()));
    out.run("create with a class that is not there", () -> admin.createTable(TableDescriptorBuilder.newBuilder(Fixture.name("errors"))
      .setColumnFamily(ColumnFamilyDescriptorBuilder.of("f")).setRegionSplitPolicyClassName("no.such.Policy").build()));
    out.call("was any made", () -> admin.tableExists(Fixture.name("errors")));
  }

  private static void disabled(Fixture fixture, Admin admin) throws Exception {
    Transcript out = fixture.out;
    try (Table table = fixture.table("off", "m")) {
      TableName name = table.getName();
      table.put(new Put(Fixture.b("r")).addColumn(Fixture.F, Q, 1, Fixture.b("v")));
      out.run("delete while enabled", () -> admin.deleteTable(name));
      out.run("enable while enabled", () -> admin.enableTable(name));
      admin.disableTable(name);
      out.run("disable while disabled", () -> admin.disableTable(name));
      out.call("get", () -> table.get(new Get(Fixture.b("r"))));
      out.run("put", () -> table.put(new Put(Fixture.b("r")).addColumn(Fixture.F, Q, Fixture.b("v"))));
      fixture.scan("scan", table, new Scan());
      out.run("add a family", () -> admin.addColumnFamily(name, ColumnFamilyDescriptorBuilder.of("h")));
      out.run("flush", () -> admin.flush(name));
      out.run("split", () -> admin.split(name, Fixture.b("c")));
      admin.enableTable(name);
      out.call("get again", () -> table.get(new Get(Fixture.b("r"))));
    }
    fixture.drop("off");
  }

  private static void cells(Fixture fixture) throws Exception {
    Transcript out = fixture.out;
    try (Table table = fixture.table("cells")) {
      byte[] nofamily = Fixture.b("nofamily");
      out.run("put into a family that is not there", () -> table.put(new Put(Fixture.b("r")).addColumn(nofamily, Q, Fixture.b("v"))));
      out.call("get from it", () -> table.get(new Get(Fixture.b("r")).addFamily(nofamily)));
      out.run("delete from it", () -> table.delete(new Delete(Fixture.b("r")).addFamily(nofamily)));
      out.call("count in it", () -> table.increment(new Increment(Fixture.b("r")).addColumn(nofamily, Q, 1)));
      out.run("put nothing", () -> table.put(new Put(Fixture.b("r"))));
      out.run("put 11 MB", () -> table.put(new Put(Fixture.b("r")).addColumn(Fixture.F, Q, new byte[11 << 20])));
      out.run("row of 32767 bytes", () -> table.put(new Put(new byte[32767]).addColumn(Fixture.F, Q, 1, Fixture.b("v"))));
      out.run("row of 32768 bytes", () -> table.put(new Put(new byte[32768]).addColumn(Fixture.F, Q, 1, Fixture.b("v"))));
      out.run("row of no bytes", () -> table.put(new Put(new byte[0]).addColumn(Fixture.F, Q, 1, Fixture.b("v"))));
      out.run("time below zero", () -> table.put(new Put(Fixture.b("r")).addColumn(Fixture.F, Q, -1, Fixture.b("v"))));
      out.call("how many rows that made", () -> Fixture.all(table, new Scan()).size());
      out.call("a scan of a filter nobody has", () -> Fixture.all(table, new Scan().setFilter(new Unknown())));
      out.call("a get with a filter nobody has", () -> table.get(new Get(Fixture.b("r")).setFilter(new Unknown())));
    }
    fixture.drop("cells");
  }

  /** A filter whose class only this program has. */
  static final class Unknown extends org.apache.hadoop.hbase.filter.FilterBase {
    @Override
    public byte[] toByteArray() {
      return new byte[0];
    }
  }
}
