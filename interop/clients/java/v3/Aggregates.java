import org.apache.hadoop.hbase.client.Table;

/** hbase-endpoint was not published for this version, so its clients bring no aggregates. */
final class Aggregates {
  private Aggregates() {
  }

  static void run(Fixture fixture, Table table) {
    fixture.out.line("no aggregation client in this version, table " + table.getName());
  }
}
