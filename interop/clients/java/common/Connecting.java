import java.util.EnumSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.ClusterMetrics;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Table;

/** How a client finds the cluster: ZooKeeper, and the registries that ask a server instead. */
final class Connecting {
  private Connecting() {
  }

  static void run(Fixture fixture) throws Exception {
    Transcript out = fixture.out;
    try (Table table = fixture.table("connect"); Admin admin = fixture.connection.getAdmin()) {
      out.run("put", () -> table.put(new Put(Fixture.b("r")).addColumn(Fixture.F, Fixture.b("q"), 5, Fixture.b("v"))));
      ClusterMetrics metrics = admin.getClusterMetrics(EnumSet.allOf(ClusterMetrics.Option.class));
      ServerName master = metrics.getMasterName();
      ServerName server = metrics.getLiveServerMetrics().keySet().iterator().next();
      for (String registry : Versioned.RPC_REGISTRIES) {
        other(fixture, registry, master, "the master");
        other(fixture, registry, server, "the region server");
      }
    }
    fixture.drop("connect");
  }

  private static void other(Fixture fixture, String registry, ServerName ask, String whom) {
    Configuration configuration = new Configuration(fixture.configuration);
    configuration.set("hbase.client.registry.impl", registry);
    String address = ask.getHostname() + ":" + ask.getPort();
    configuration.set("hbase.masters", address);
    configuration.set("hbase.client.bootstrap.servers", address);
    // Nothing but the registry may answer.
    configuration.set("hbase.zookeeper.property.clientPort", "1");
    String name = registry.substring(registry.lastIndexOf('.') + 1);
    fixture.out.call("get through " + name + " at " + whom, () -> {
      try (Connection connection = ConnectionFactory.createConnection(configuration);
        Table table = connection.getTable(Fixture.name("connect"))) {
        return table.get(new Get(Fixture.b("r")));
      }
    });
  }
}
