import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ClientServiceCallable;
import org.apache.hadoop.hbase.client.ClusterConnection;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.SecureBulkLoadClient;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.ipc.RpcControllerFactory;
import org.apache.hadoop.hbase.util.Pair;

/** The three calls themselves, as the tool makes them, and as it never does. */
final class LoadCalls {
  private final Fixture fixture;
  private final Files files;
  private final Table table;
  private final SecureBulkLoadClient client;
  private String token;
  private boolean assign = true;

  private LoadCalls(Fixture fixture, Files files, Table table) {
    this.fixture = fixture;
    this.files = files;
    this.table = table;
    this.client = new SecureBulkLoadClient(fixture.configuration, table);
  }

  static void run(Fixture fixture, Files files) throws Exception {
    try (Table table = fixture.table("calls", "h")) {
      new LoadCalls(fixture, files, table).run();
    }
  }

  private void run() throws Exception {
    token = client.prepareBulkLoad(fixture.connection);
    fixture.out.line("a token each time: " + !token.equals(client.prepareBulkLoad(fixture.connection)));
    fixture.out.line("it is a folder: " + files.exists(new Path(token)));
    load("a file", "a", file("one", "f", "a"));
    load("of two families", "a", file("two", "f", "b"), file("two", "g", "b"));
    load("into the second region", "h", file("three", "f", "h", "i"));
    load("over the end of the region", "a", file("four", "f", "g", "h"));
    load("of the other region", "a", file("five", "f", "z"));
    load("one that fits and one that does not", "a", file("six", "f", "c"), file("six", "g", "z"));
    load("no file", "a");
    load("a file that is not there", "a", pair("f", files.path("nowhere/file").toString()));
    load("a folder", "a", pair("f", files.path("one").toString()));
    load("a text", "a", pair("f", files.text("calls/text", "no store file").toString()));
    load("a family that is not there", "a", pair("nosuch", file("seven", "f", "d").getSecond()));
    load("that and one that is", "a", pair("nosuch", file("eight", "f", "d").getSecond()), file("nine", "g", "d"));
    load("a path without a scheme", "a", pair("f", new Path(file("ten", "f", "e").getSecond()).toUri().getPath()));
    fixture.out.line("what could not be loaded is still there: " + files.exists(new Path(file("six", "f", "c").getSecond())));
    String again = file("eleven", "f", "f").getSecond();
    load("once", "a", pair("f", again));
    load("what has been loaded already", "a", pair("f", again));
    load("a file system that is not there", "a", pair("f", "hdfs://127.0.0.1:1/file"));
    load("an unknown file system", "a", pair("f", "nosuch:/file"));
    load("a path that is not whole", "a", pair("f", "file"));
    unnumbered();
    fixture.scan("what was loaded", table, new Scan());
    fixture.out.run("cleaning up", () -> client.cleanupBulkLoad(fixture.connection, token));
    fixture.out.line("it is gone: " + !files.exists(new Path(token)));
    fixture.out.run("cleaning up again", () -> client.cleanupBulkLoad(fixture.connection, token));
    try (Table missing = fixture.connection.getTable(Fixture.name("missing"))) {
      fixture.out.run("a token for a table that is not there", () -> new SecureBulkLoadClient(fixture.configuration, missing).prepareBulkLoad(fixture.connection));
    }
  }

  /** Without a sequence id of its own. */
  private void unnumbered() throws IOException {
    for (String row : new String[] {"aa", "ab"}) {
      table.put(new Put(Fixture.b(row)).addColumn(Fixture.F, Fixture.b("q"), 5, Fixture.b("before")));
    }
    assign = false;
    load("without a sequence id", "a", file("unnumbered", "f", "aa", "ab", "ac", "ad"));
    assign = true;
    for (String row : new String[] {"ab", "ac"}) {
      table.put(new Put(Fixture.b(row)).addColumn(Fixture.F, Fixture.b("q"), 5, Fixture.b("after")));
    }
    Scan scan = new Scan().withStartRow(Fixture.b("aa")).withStopRow(Fixture.b("b"));
    fixture.scan("beside others", table, scan);
    try (Admin admin = fixture.connection.getAdmin()) {
      admin.flush(table.getName());
    }
    fixture.scan("after a flush", table, scan);
  }

  private Pair<byte[], String> file(String name, String family, String... rows) throws IOException {
    return pair(family, files.rows("calls/" + name, family, name, rows).toString());
  }

  private static Pair<byte[], String> pair(String family, String path) {
    return Pair.newPair(Fixture.b(family), path);
  }

  /** Loads into the region of a row; prints whether the server says that it did. */
  @SafeVarargs
  private void load(String what, String row, Pair<byte[], String>... families) {
    List<Pair<byte[], String>> list = new ArrayList<>(List.of(families));
    fixture.out.call(what, () -> {
      ClientServiceCallable<Boolean> call = new ClientServiceCallable<Boolean>(fixture.connection, table.getName(), Fixture.b(row),
        new RpcControllerFactory(fixture.configuration).newController(), HConstants.PRIORITY_UNSET, java.util.Map.of()) {
        @Override
        protected Boolean rpcCall() throws Exception {
          return client.secureBulkLoadHFiles(getStub(), list, getLocation().getRegionInfo().getRegionName(), assign, null, token);
        }
      };
      return ((ClusterConnection) fixture.connection).getNewRpcRetryingCallerFactory(fixture.configuration).<Boolean>newCaller().callWithRetries(call, 60_000);
    });
  }
}
