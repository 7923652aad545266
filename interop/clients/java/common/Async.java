import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.hbase.client.AdvancedScanResultConsumer;
import org.apache.hadoop.hbase.client.Append;
import org.apache.hadoop.hbase.client.AsyncAdmin;
import org.apache.hadoop.hbase.client.AsyncConnection;
import org.apache.hadoop.hbase.client.AsyncTable;
import org.apache.hadoop.hbase.client.CheckAndMutate;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Increment;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.ScanResultConsumer;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;

/** The clients that do not wait. */
final class Async {
  private static final byte[] Q = Fixture.b("q");

  private Async() {
  }

  static void run(Fixture fixture) throws Exception {
    Transcript out = fixture.out;
    try (AsyncConnection connection = ConnectionFactory.createAsyncConnection(fixture.configuration).get()) {
      AsyncAdmin admin = connection.getAdmin();
      out.call("create", () -> admin.createTable(TableDescriptorBuilder.newBuilder(Fixture.name("async"))
        .setColumnFamily(ColumnFamilyDescriptorBuilder.of("f")).build(), new byte[][] {Fixture.b("5")}).get());
      AsyncTable<AdvancedScanResultConsumer> table = connection.getTable(Fixture.name("async"));
      operations(out, table);
      scans(out, table);
      streaming(out, connection);
      administration(out, admin);
    }
  }

  private static void operations(Transcript out, AsyncTable<?> table) throws Exception {
    out.run("100 puts at once", () -> {
      List<CompletableFuture<Void>> puts = new ArrayList<>();
      for (int row = 0; row < 100; row++) {
        puts.add(table.put(new Put(Fixture.b(String.format("%02d", row))).addColumn(Fixture.F, Q, 1, Fixture.b("v" + row))));
      }
      CompletableFuture.allOf(puts.toArray(new CompletableFuture<?>[0])).get(60, TimeUnit.SECONDS);
    });
    out.call("get", () -> table.get(new Get(Fixture.b("07"))).get());
    out.call("exists", () -> table.exists(new Get(Fixture.b("none"))).get());
    out.call("several gets", () -> table.getAll(List.of(new Get(Fixture.b("98")), new Get(Fixture.b("none")), new Get(Fixture.b("03")))).get());
    out.run("delete", () -> table.delete(new Delete(Fixture.b("07"))).get());
    out.call("increment", () -> table.increment(new Increment(Fixture.b("n")).addColumn(Fixture.F, Q, 3)).get());
    out.call("append", () -> table.append(new Append(Fixture.b("08")).addColumn(Fixture.F, Q, Fixture.b("+"))).get());
    out.call("check", () -> table.checkAndMutate(CheckAndMutate.newBuilder(Fixture.b("09")).ifEquals(Fixture.F, Q, Fixture.b("v9"))
      .build(new Put(Fixture.b("09")).addColumn(Fixture.F, Q, 2, Fixture.b("checked")))).get());
    RowMutations changes = new RowMutations(Fixture.b("10"));
    changes.add(new Put(Fixture.b("10")).addColumn(Fixture.F, Q, 2, Fixture.b("changed")));
    out.call("change a row", () -> table.mutateRow(changes).get());
    out.call("batch", () -> table.batchAll(List.of(new Get(Fixture.b("09")), new Put(Fixture.b("60")).addColumn(Fixture.F, Q, 5, Fixture.b("b")),
      new Increment(Fixture.b("n")).addColumn(Fixture.F, Q, 1))).get());
    out.call("a family that is not there", () -> table.get(new Get(Fixture.b("09")).addFamily(Fixture.b("nofamily"))).get());
  }

  private static void scans(Transcript out, AsyncTable<AdvancedScanResultConsumer> table) {
    out.call("scan all", () -> Scans.keys(table.scanAll(new Scan().withStartRow(Fixture.b("40")).withStopRow(Fixture.b("60"))).get()));
    out.call("scan all backwards, a limit", () -> Scans.keys(table.scanAll(new Scan().setReversed(true).setLimit(12)).get()));
    out.call("observed with small answers", () -> {
      List<Result> results = new ArrayList<>();
      CountDownLatch end = new CountDownLatch(1);
      table.scan(new Scan().setCaching(3).setLimit(10), new AdvancedScanResultConsumer() {
        @Override
        public void onNext(Result[] answers, ScanController controller) {
          results.addAll(List.of(answers));
        }

        @Override
        public void onError(Throwable error) {
          end.countDown();
        }

        @Override
        public void onComplete() {
          end.countDown();
        }
      });
      end.await(60, TimeUnit.SECONDS);
      return Scans.keys(results);
    });
  }

  private static void streaming(Transcript out, AsyncConnection connection) {
    ExecutorService pool = Executors.newSingleThreadExecutor();
    AsyncTable<ScanResultConsumer> table = connection.getTable(Fixture.name("async"), pool);
    out.call("read like a sync scanner", () -> {
      List<Result> results = new ArrayList<>();
      try (var scanner = table.getScanner(new Scan().setCaching(7).withStartRow(Fixture.b("90")))) {
        scanner.forEach(results::add);
      }
      return Scans.keys(results);
    });
    out.call("locations", () -> connection.getRegionLocator(Fixture.name("async")).getAllRegionLocations().get().stream()
      .map(location -> Creating.range(location.getRegion())).toList());
    pool.shutdown();
  }

  private static void administration(Transcript out, AsyncAdmin admin) {
    out.call("exists", () -> admin.tableExists(Fixture.name("async")).get());
    out.call("names", () -> admin.listTableNames(Fixture.OURS, false).get());
    out.call("regions", () -> admin.getRegions(Fixture.name("async")).get().stream().map(Creating::range).sorted().toList());
    out.call("flush", () -> admin.flush(Fixture.name("async")).get());
    out.call("create again", () -> admin.createTable(TableDescriptorBuilder.newBuilder(Fixture.name("async"))
      .setColumnFamily(ColumnFamilyDescriptorBuilder.of("f")).build()).get());
    out.call("delete while enabled", () -> admin.deleteTable(Fixture.name("async")).get());
    out.call("disable", () -> admin.disableTable(Fixture.name("async")).get());
    out.call("disabled", () -> admin.isTableDisabled(Fixture.name("async")).get());
    out.call("delete", () -> admin.deleteTable(Fixture.name("async")).get());
    out.call("exists", () -> admin.tableExists(Fixture.name("async")).get());
    out.call("describe what is not there", () -> admin.getDescriptor(Fixture.name("async")).get());
  }
}
