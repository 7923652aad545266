import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import org.apache.hadoop.hbase.ClusterMetrics;
import org.apache.hadoop.hbase.NamespaceDescriptor;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.ServerMetrics;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;

/** Tables and families that change, namespaces, and what the cluster says of itself. */
final class Administration {
  private Administration() {
  }

  static void run(Fixture fixture) throws Exception {
    try (Admin admin = fixture.connection.getAdmin()) {
      alter(fixture, admin);
      states(fixture, admin);
      namespaces(fixture, admin);
      cluster(fixture, admin);
      switches(fixture.out, admin);
    }
  }

  private static void alter(Fixture fixture, Admin admin) throws Exception {
    Transcript out = fixture.out;
    TableName name = Fixture.name("alter");
    try (Table table = fixture.table("alter", "m")) {
      table.put(new Put(Fixture.b("r")).addColumn(Fixture.F, Fixture.b("q"), 1, Fixture.b("v")).addColumn(Fixture.G, Fixture.b("q"), 1, Fixture.b("v")));
      out.run("add a family", () -> admin.addColumnFamily(name, ColumnFamilyDescriptorBuilder.of("h")));
      out.run("put into it", () -> table.put(new Put(Fixture.b("r")).addColumn(Fixture.b("h"), Fixture.b("q"), 1, Fixture.b("v"))));
      out.run("add a family that is there", () -> admin.addColumnFamily(name, ColumnFamilyDescriptorBuilder.of("h")));
      out.run("change a family", () -> admin.modifyColumnFamily(name, ColumnFamilyDescriptorBuilder.newBuilder(Fixture.F).setMaxVersions(9).build()));
      out.run("change a family that is not there", () -> admin.modifyColumnFamily(name, ColumnFamilyDescriptorBuilder.of("nofamily")));
      out.run("delete a family", () -> admin.deleteColumnFamily(name, Fixture.G));
      out.run("delete a family that is not there", () -> admin.deleteColumnFamily(name, Fixture.b("nofamily")));
      out.call("what is left", () -> table.get(new Get(Fixture.b("r"))));
      out.run("change the table", () -> admin.modifyTable(TableDescriptorBuilder.newBuilder(admin.getDescriptor(name)).setValue("note", "changed")
        .setMaxFileSize(1L << 31).build()));
      Creating.describe(fixture, admin, "alter");
      out.run("without any family", () -> {
        TableDescriptorBuilder builder = TableDescriptorBuilder.newBuilder(admin.getDescriptor(name));
        builder.removeColumnFamily(Fixture.F).removeColumnFamily(Fixture.b("h"));
        admin.modifyTable(builder.build());
      });
      out.run("make read-only", () -> admin.modifyTable(TableDescriptorBuilder.newBuilder(admin.getDescriptor(name)).setReadOnly(true).build()));
      out.run("put into a read-only table", () -> table.put(new Put(Fixture.b("r")).addColumn(Fixture.F, Fixture.b("q"), 2, Fixture.b("v"))));
      out.run("clone the schema", () -> admin.cloneTableSchema(name, Fixture.name("twin"), true));
      Creating.describe(fixture, admin, "twin");
    }
    fixture.drop("alter", "twin");
  }

  private static void states(Fixture fixture, Admin admin) throws Exception {
    Transcript out = fixture.out;
    TableName name = Fixture.name("state");
    try (Table table = fixture.table("state", "m")) {
      table.put(List.of(new Put(Fixture.b("a")).addColumn(Fixture.F, Fixture.b("q"), 1, Fixture.b("v")),
        new Put(Fixture.b("z")).addColumn(Fixture.F, Fixture.b("q"), 1, Fixture.b("v"))));
      out.run("disable", () -> admin.disableTable(name));
      out.call("enabled, disabled, available", () -> List.of(admin.isTableEnabled(name), admin.isTableDisabled(name), admin.isTableAvailable(name)));
      out.run("enable", () -> admin.enableTable(name));
      out.call("enabled, disabled, available", () -> List.of(admin.isTableEnabled(name), admin.isTableDisabled(name), admin.isTableAvailable(name)));
      out.call("rows", () -> Scans.keys(Fixture.all(table, new Scan())));
      out.run("truncate while enabled", () -> admin.truncateTable(name, true));
      out.run("disable", () -> admin.disableTable(name));
      out.run("truncate, splits kept", () -> admin.truncateTable(name, true));
      out.call("rows", () -> Fixture.all(table, new Scan()).size());
      Creating.regions(fixture, "state");
      out.run("disable", () -> admin.disableTable(name));
      out.run("truncate", () -> admin.truncateTable(name, false));
      Creating.regions(fixture, "state");
      out.run("put again", () -> table.put(new Put(Fixture.b("n")).addColumn(Fixture.F, Fixture.b("q"), 1, Fixture.b("v"))));
      out.call("rows", () -> Scans.keys(Fixture.all(table, new Scan())));
    }
    fixture.drop("state");
  }

  private static void namespaces(Fixture fixture, Admin admin) throws IOException {
    Transcript out = fixture.out;
    out.run("create namespace", () -> admin.createNamespace(NamespaceDescriptor.create("jt_ns").addConfiguration("k", "v").build()));
    out.run("create it again", () -> admin.createNamespace(NamespaceDescriptor.create("jt_ns").build()));
    out.call("namespace", () -> settings(admin.getNamespaceDescriptor("jt_ns")));
    out.run("change namespace", () -> admin.modifyNamespace(NamespaceDescriptor.create("jt_ns").addConfiguration("k", "w").build()));
    out.call("namespace", () -> settings(admin.getNamespaceDescriptor("jt_ns")));
    out.call("namespace that is not there", () -> settings(admin.getNamespaceDescriptor("jt_absent")));
    out.run("change one that is not there", () -> admin.modifyNamespace(NamespaceDescriptor.create("jt_absent").build()));
    out.call("namespaces", () -> java.util.Arrays.stream(admin.listNamespaceDescriptors()).map(NamespaceDescriptor::getName)
      .filter(last -> last.startsWith(Fixture.PREFIX) || NamespaceDescriptor.RESERVED_NAMESPACES.contains(last) || last.equals("default")).sorted().toList());
    TableName name = TableName.valueOf("jt_ns:jt_inside");
    TableDescriptor inside = TableDescriptorBuilder.newBuilder(name).setColumnFamily(ColumnFamilyDescriptorBuilder.of("f")).build();
    out.run("create a table in it", () -> admin.createTable(inside));
    out.call("put and get in it", () -> {
      try (Table table = fixture.connection.getTable(name)) {
        table.put(new Put(Fixture.b("r")).addColumn(Fixture.F, Fixture.b("q"), 1, Fixture.b("v")));
        return table.get(new Get(Fixture.b("r")));
      }
    });
    out.call("tables in it", () -> admin.listTableNamesByNamespace("jt_ns"));
    out.call("descriptors in it", () -> admin.listTableDescriptorsByNamespace(Fixture.b("jt_ns")).stream().map(TableDescriptor::getTableName).toList());
    out.run("delete it while it holds a table", () -> admin.deleteNamespace("jt_ns"));
    out.run("delete the table", () -> {
      admin.disableTable(name);
      admin.deleteTable(name);
    });
    out.run("delete namespace", () -> admin.deleteNamespace("jt_ns"));
    out.run("delete it again", () -> admin.deleteNamespace("jt_ns"));
    out.run("create a table where no namespace is", () -> admin.createTable(inside));
  }

  private static String settings(NamespaceDescriptor namespace) {
    return namespace.getName() + " " + new java.util.TreeMap<>(namespace.getConfiguration());
  }

  private static void cluster(Fixture fixture, Admin admin) throws IOException {
    Transcript out = fixture.out;
    try (Table table = fixture.table("metrics", "m")) {
      table.put(new Put(Fixture.b("r")).addColumn(Fixture.F, Fixture.b("q"), 1, new byte[1000]));
      out.run("flush", () -> admin.flush(table.getName()));
      ClusterMetrics metrics = admin.getClusterMetrics(EnumSet.allOf(ClusterMetrics.Option.class));
      out.line("servers " + metrics.getLiveServerMetrics().size() + ", dead " + metrics.getDeadServerNames().size() + ", backups "
        + metrics.getBackupMasterNames().size() + ", in transition " + metrics.getRegionStatesInTransition().size() + ", balancer " + metrics.getBalancerOn());
      out.line("version " + metrics.getHBaseVersion().replaceAll("[0-9.]+.*", "(version)") + ", id " + (metrics.getClusterId().length() == 36));
      ServerName server = metrics.getLiveServerMetrics().keySet().iterator().next();
      ServerMetrics load = metrics.getLiveServerMetrics().get(server);
      out.line("memory " + (load.getUsedHeapSize().getLongValue() > 0) + ", reports on time " + (load.getReportTimestamp() > 0));
      out.call("loads of the regions", () -> {
        List<String> loads = new ArrayList<>();
        for (RegionMetrics region : admin.getRegionMetrics(server, table.getName())) {
          loads.add(region.getNameAsString().split(",")[1] + ": stores " + region.getStoreCount() + ", files " + region.getStoreFileCount() + ", requests "
            + (region.getRequestCount() > 0));
        }
        loads.sort(null);
        return loads;
      });
      out.call("regions on the server", () -> admin.getRegions(server).stream().filter(region -> region.getTable().equals(table.getName())).count());
      out.call("servers", () -> admin.getRegionServers().size());
      out.call("master's server", () -> admin.getMaster() != null);
    }
    fixture.drop("metrics");
  }

  private static void switches(Transcript out, Admin admin) {
    out.call("balancer off", () -> admin.balancerSwitch(false, true));
    out.call("balancer is", admin::isBalancerEnabled);
    out.call("balancer on", () -> admin.balancerSwitch(true, true));
    out.call("balancer is", admin::isBalancerEnabled);
    out.call("splits off", () -> admin.splitSwitch(false, true));
    out.call("splits are", admin::isSplitEnabled);
    out.call("splits on", () -> admin.splitSwitch(true, true));
    out.call("merges are", admin::isMergeEnabled);
    out.call("normalizer", admin::isNormalizerEnabled);
    out.call("catalog janitor", admin::isCatalogJanitorEnabled);
    out.call("cleaner chore", admin::isCleanerChoreEnabled);
    out.call("master in maintenance", admin::isMasterInMaintenanceMode);
    out.call("decommissioned", admin::listDecommissionedRegionServers);
    out.call("peers", admin::listReplicationPeers);
    out.call("security", admin::getSecurityCapabilities);
  }
}
