import java.util.concurrent.Callable;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.coprocessor.AggregationClient;
import org.apache.hadoop.hbase.client.coprocessor.LongColumnInterpreter;

/** Sums and the like, computed beside each region. */
final class Aggregates {
  private Aggregates() {
  }

  /** One aggregate of a table. */
  private interface Question {
    Object ask(AggregationClient client, Table table, LongColumnInterpreter longs, Scan scan) throws Throwable;
  }

  static void run(Fixture fixture, Table table) throws Exception {
    try (AggregationClient client = new AggregationClient(fixture.configuration)) {
      ask(fixture, client, table, "rows", (c, t, longs, scan) -> c.rowCount(t, longs, scan));
      ask(fixture, client, table, "max", (c, t, longs, scan) -> c.max(t, longs, scan));
      ask(fixture, client, table, "min", (c, t, longs, scan) -> c.min(t, longs, scan));
      ask(fixture, client, table, "sum", (c, t, longs, scan) -> c.sum(t, longs, scan));
      ask(fixture, client, table, "avg", (c, t, longs, scan) -> c.avg(t, longs, scan));
      ask(fixture, client, table, "std", (c, t, longs, scan) -> c.std(t, longs, scan));
      ask(fixture, client, table, "median", (c, t, longs, scan) -> c.median(t, longs, scan));
    }
  }

  private static void ask(Fixture fixture, AggregationClient client, Table table, String what, Question question) {
    LongColumnInterpreter longs = new LongColumnInterpreter();
    fixture.out.call(what, caught(() -> question.ask(client, table, longs, scan())));
    fixture.out.call(what + " of rows b to y", caught(() -> question.ask(client, table, longs,
      scan().withStartRow(Fixture.b("b")).withStopRow(Fixture.b("y")))));
    fixture.out.call(what + " of nothing", caught(() -> question.ask(client, table, longs,
      scan().withStartRow(Fixture.b("f")).withStopRow(Fixture.b("g")))));
    fixture.out.call(what + " of a whole family", caught(() -> question.ask(client, table, longs, new Scan().addFamily(Fixture.F))));
  }

  private static Scan scan() {
    return new Scan().addColumn(Fixture.F, Fixture.b("n"));
  }

  /** The client declares every kind of throwable. */
  private interface Throwing {
    Object call() throws Throwable;
  }

  private static Callable<Object> caught(Throwing work) {
    return () -> {
      try {
        return work.call();
      } catch (Exception error) {
        throw error;
      } catch (Throwable error) {
        throw new IllegalStateException(error);
      }
    };
  }
}
