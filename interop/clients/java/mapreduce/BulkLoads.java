import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;

/**
 * Makes store files with HBase's own output formats and loads them with its own tools, and writes what happened to a file.
 * Arguments: the port of the server's ZooKeeper, the file, a folder for store files, and sections to run (none: all).
 */
public final class BulkLoads {
  /** One topic; it makes the tables and files it needs. */
  interface Section {
    void run(Fixture fixture, Files files) throws Exception;
  }

  public static void main(String[] arguments) throws Exception {
    Configuration configuration = Main.configuration(arguments[0]);
    configuration.set("hadoop.tmp.dir", arguments[2] + "/tmp");
    configuration.set("hbase.fs.tmp.dir", arguments[2] + "/staging");
    List<String> wanted = List.of(arguments).subList(3, arguments.length);
    try (PrintStream out = new PrintStream(arguments[1], StandardCharsets.UTF_8);
      Connection connection = ConnectionFactory.createConnection(configuration)) {
      Fixture fixture = new Fixture(configuration, connection, new Transcript(out));
      Files files = new Files(configuration, arguments[2]);
      fixture.dropLeftovers();
      for (Map.Entry<String, Section> section : sections().entrySet()) {
        if (wanted.isEmpty() || wanted.contains(section.getKey())) {
          fixture.out.section(section.getKey());
          section.getValue().run(fixture, files);
        }
      }
      fixture.dropLeftovers();
    }
    // Threads of the client and of the job runner may keep the process.
    System.exit(0);
  }

  private static Map<String, Section> sections() {
    Map<String, Section> sections = new LinkedHashMap<>();
    sections.put("output format", OutputFormats::run);
    sections.put("import tsv", TsvImports::run);
    sections.put("loading", Loading::run);
    sections.put("refusals", LoadRefusals::run);
    sections.put("calls", LoadCalls::run);
    return sections;
  }
}
