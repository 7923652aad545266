import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongFunction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.AsyncConnection;
import org.apache.hadoop.hbase.client.AsyncTable;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.AdvancedScanResultConsumer;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * One kind of work by some callers at once for some seconds, as crates/client/examples/load.rs does it:
 * Load ZK_PORT get|put|gets|puts|scan CALLERS WARM_SECONDS SECONDS ROWS. A caller is a chain of calls, each begun when the
 * one before it is done.
 */
public final class Load {
  private static final byte[] F = Bytes.toBytes("f");
  private static final byte[] Q = Bytes.toBytes("q");
  private static final int BATCH = 100;

  private final AsyncTable<AdvancedScanResultConsumer> table;
  private final long rows;
  private final LongAdder done = new LongAdder();
  private final byte[] value = new byte[100];

  private Load(AsyncTable<AdvancedScanResultConsumer> table, long rows) {
    this.table = table;
    this.rows = rows;
  }

  public static void main(String[] arguments) throws Exception {
    Configuration configuration = HBaseConfiguration.create();
    configuration.set("hbase.zookeeper.quorum", "127.0.0.1");
    configuration.set("hbase.zookeeper.property.clientPort", arguments[0]);
    AsyncConnection connection = ConnectionFactory.createAsyncConnection(configuration).get();
    Load load = new Load(connection.getTable(TableName.valueOf("client_load")), Long.parseLong(arguments[5]));
    load.start(arguments[1], Integer.parseInt(arguments[2]));
    OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    Thread.sleep(Long.parseLong(arguments[3]) * 1000);
    long begin = System.nanoTime();
    long cpu = system.getProcessCpuTime();
    long before = load.done.sum();
    Thread.sleep(Long.parseLong(arguments[4]) * 1000);
    double seconds = (System.nanoTime() - begin) / 1e9;
    System.out.printf("rows %d seconds %.3f cpu_us %d%n", load.done.sum() - before, seconds, (system.getProcessCpuTime() - cpu) / 1000);
    Runtime.getRuntime().halt(0);
  }

  private void start(String work, int callers) {
    for (int caller = 0; caller < callers; caller++) {
      long random = caller * 7919L + 1;
      switch (work) {
        case "get" -> chain(random, number -> get(number % rows));
        case "put" -> chain(random, number -> put(number % rows));
        case "gets" -> chain(random, this::gets);
        case "puts" -> chain(random, this::puts);
        case "scan" -> new Thread(this::scan).start();
        default -> throw new IllegalArgumentException("there is no work " + work);
      }
    }
  }

  private void chain(long random, LongFunction<CompletableFuture<?>> call) {
    long next = (random * 1103515245 + 12345) % 2147483648L;
    call.apply(next).whenComplete((result, error) -> {
      if (error != null) {
        fail(error);
      }
      chain(next, call);
    });
  }

  private static void fail(Throwable error) {
    error.printStackTrace();
    Runtime.getRuntime().halt(1);
  }

  private static byte[] key(long number) {
    byte[] key = Bytes.toBytes("row00000000");
    long rest = number;
    for (int at = key.length - 1; rest > 0; at--, rest /= 10) {
      key[at] = (byte) ('0' + rest % 10);
    }
    return key;
  }

  private CompletableFuture<?> get(long number) {
    return table.get(new Get(key(number))).thenAccept(this::found);
  }

  private void found(Result result) {
    if (result.size() != 1) {
      fail(new IllegalStateException("a row has " + result.size() + " cells and not one"));
    }
    done.increment();
  }

  private Put of(long number) {
    return new Put(key(number)).addColumn(F, Q, value);
  }

  private CompletableFuture<?> put(long number) {
    return table.put(of(number)).thenRun(done::increment);
  }

  private CompletableFuture<?> gets(long random) {
    List<Get> gets = new ArrayList<>(BATCH);
    for (int index = 0; index < BATCH; index++) {
      gets.add(new Get(key((random + index * 7919L) % rows)));
    }
    return table.getAll(gets).thenAccept(results -> results.forEach(this::found));
  }

  private CompletableFuture<?> puts(long random) {
    List<Put> puts = new ArrayList<>(BATCH);
    for (int index = 0; index < BATCH; index++) {
      puts.add(of((random + index * 7919L) % rows));
    }
    return table.putAll(puts).thenRun(() -> done.add(BATCH));
  }

  private void scan() {
    try {
      while (true) {
        long count = 0;
        try (ResultScanner scanner = table.getScanner(new Scan())) {
          for (Result result : scanner) {
            found(result);
            count++;
          }
        }
        if (count != rows) {
          throw new IllegalStateException("the scan found " + count + " rows");
        }
      }
    } catch (Throwable error) {
      fail(error);
    }
  }
}
