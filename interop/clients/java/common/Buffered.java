import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.hbase.client.BufferedMutator;
import org.apache.hadoop.hbase.client.BufferedMutatorParams;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter;

/** Writes that a client gathers. */
final class Buffered {
  private static final int ROWS = 5000;

  private Buffered() {
  }

  static void run(Fixture fixture) throws Exception {
    Transcript out = fixture.out;
    try (Table table = fixture.table("buffered", "2", "4", "6")) {
      out.run(ROWS + " rows", () -> {
        BufferedMutatorParams settings = new BufferedMutatorParams(table.getName()).writeBufferSize(64 * 1024);
        try (BufferedMutator mutator = fixture.connection.getBufferedMutator(settings)) {
          for (int row = 0; row < ROWS; row++) {
            mutator.mutate(new Put(key(row)).addColumn(Fixture.F, Fixture.b("q"), 1, Fixture.b("value " + row)));
          }
        }
      });
      out.call("rows", () -> count(table));
      out.run("deletes among puts", () -> {
        try (BufferedMutator mutator = fixture.connection.getBufferedMutator(table.getName())) {
          for (int row = 0; row < ROWS; row += 2) {
            mutator.mutate(new Delete(key(row), 1));
          }
          mutator.mutate(new Put(Fixture.b("9last")).addColumn(Fixture.F, Fixture.b("q"), 1, Fixture.b("v")));
          mutator.flush();
          out.call("rows after flush", () -> count(table));
        }
      });
      failing(fixture, table);
    }
    fixture.drop("buffered");
  }

  private static void failing(Fixture fixture, Table table) {
    AtomicInteger heard = new AtomicInteger();
    fixture.out.run("some that fail, with a listener", () -> {
      BufferedMutatorParams settings = new BufferedMutatorParams(table.getName()).listener((error, mutator) -> heard.addAndGet(error.getNumExceptions()));
      try (BufferedMutator mutator = fixture.connection.getBufferedMutator(settings)) {
        mutator.mutate(new Put(Fixture.b("1ok")).addColumn(Fixture.F, Fixture.b("q"), 1, Fixture.b("v")));
        mutator.mutate(new Put(Fixture.b("1bad")).addColumn(Fixture.b("nofamily"), Fixture.b("q"), 1, Fixture.b("v")));
        mutator.mutate(new Put(Fixture.b("7bad")).addColumn(Fixture.b("nofamily"), Fixture.b("q"), 1, Fixture.b("v")));
        mutator.flush();
      }
    });
    fixture.out.line("the listener heard of " + heard);
    fixture.out.call("rows", () -> count(table));
  }

  private static byte[] key(int row) {
    return Fixture.b(String.format("%05d", row * 17 % 80_000));
  }

  private static int count(Table table) throws Exception {
    return Fixture.all(table, new Scan().setFilter(new FirstKeyOnlyFilter()).setCaching(1000)).size();
  }
}
