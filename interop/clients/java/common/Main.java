import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;

/**
 * Uses a server as programs do, through HBase's own client, and writes what happened to a file.
 * Arguments: the port of the server's ZooKeeper, the file, and sections to run (none: all).
 */
public final class Main {
  /** One topic; it makes the tables it needs and takes them away. */
  interface Section {
    void run(Fixture fixture) throws Exception;
  }

  public static void main(String[] arguments) throws Exception {
    Configuration configuration = configuration(arguments[0]);
    List<String> wanted = List.of(arguments).subList(2, arguments.length);
    try (PrintStream out = new PrintStream(arguments[1], StandardCharsets.UTF_8);
      Connection connection = ConnectionFactory.createConnection(configuration)) {
      Fixture fixture = new Fixture(configuration, connection, new Transcript(out));
      fixture.dropLeftovers();
      for (Map.Entry<String, Section> section : sections().entrySet()) {
        if (wanted.isEmpty() || wanted.contains(section.getKey())) {
          fixture.out.section(section.getKey());
          long start = System.currentTimeMillis();
          section.getValue().run(fixture);
          System.out.println(section.getKey() + ": " + (System.currentTimeMillis() - start) + " ms");
        }
      }
      fixture.dropLeftovers();
    }
    // The client's own threads may keep the process.
    System.exit(0);
  }

  private static Map<String, Section> sections() {
    Map<String, Section> sections = new LinkedHashMap<>();
    sections.put("connect", Connecting::run);
    sections.put("create", Creating::run);
    sections.put("put and get", PutsAndGets::run);
    sections.put("delete", Deletes::run);
    sections.put("batch", Batches::run);
    sections.put("check and mutate", Checks::run);
    sections.put("counters", Counters::run);
    sections.put("scan", Scans::run);
    sections.put("scan pieces", ScanPieces::run);
    sections.put("filters", Filters::run);
    sections.put("filter strings", FilterStrings::run);
    sections.put("buffered mutator", Buffered::run);
    sections.put("async", Async::run);
    sections.put("admin", Administration::run);
    sections.put("regions", Regions::run);
    sections.put("snapshots", Snapshots::run);
    sections.put("errors", Errors::run);
    sections.put("endpoints", Endpoints::run);
    return sections;
  }

  /** Few and quick retries: what cannot work shall say so soon. */
  static Configuration configuration(String zookeeperPort) {
    Configuration configuration = HBaseConfiguration.create();
    configuration.set("hbase.zookeeper.quorum", "127.0.0.1");
    configuration.set("hbase.zookeeper.property.clientPort", zookeeperPort);
    configuration.set("hbase.client.registry.impl", Versioned.ZOOKEEPER_REGISTRY);
    configuration.setInt("hbase.client.retries.number", 5);
    configuration.setInt("hbase.client.pause", 50);
    configuration.setInt("hbase.client.operation.timeout", 60_000);
    configuration.setInt("hbase.client.sync.wait.timeout.msec", 60_000);
    return configuration;
  }
}
