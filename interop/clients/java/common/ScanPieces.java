import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.filter.PageFilter;
import org.apache.hadoop.hbase.filter.SingleColumnValueFilter;

/** Rows that come in pieces: by number of cells, by size, whole again, and scans that see a moment. */
final class ScanPieces {
  private ScanPieces() {
  }

  static void run(Fixture fixture) throws Exception {
    try (Table table = fixture.table("pieces", "c")) {
      fixture.out.run("fill", () -> table.put(rows(0)));
      batches(fixture, table);
      sizes(fixture, table);
      moment(fixture.out, table);
    }
    fixture.drop("pieces");
  }

  /** Rows `a` to `d` of 7 cells in each family. */
  private static List<Put> rows(int round) {
    List<Put> puts = new ArrayList<>();
    for (String row : List.of("a", "b", "c", "d")) {
      Put put = new Put(Fixture.b(row + (round == 0 ? "" : round)), 5);
      for (int column = 0; column < 7; column++) {
        put.addColumn(Fixture.F, Fixture.b("q" + column), Fixture.b("v" + column)).addColumn(Fixture.G, Fixture.b("q" + column), new byte[100]);
      }
      puts.add(put);
    }
    return puts;
  }

  private static void batches(Fixture fixture, Table table) {
    fixture.scan("3 cells at a time", table, new Scan().setBatch(3).withStopRow(Fixture.b("b")));
    fixture.out.call("7 cells at a time", () -> sizes(Fixture.all(table, new Scan().setBatch(7))));
    fixture.out.call("5 cells at a time, one answer each", () -> sizes(Fixture.all(table, new Scan().setBatch(5).setCaching(1))));
    fixture.out.call("5 cells at a time, backwards", () -> sizes(Fixture.all(table, new Scan().setBatch(5).setReversed(true))));
    fixture.out.call("5 cells at a time, 2 rows", () -> sizes(Fixture.all(table, new Scan().setBatch(5).setLimit(2))));
    fixture.scan("3 cells at a time with a filter of rows", table, new Scan().setBatch(3)
      .setFilter(new SingleColumnValueFilter(Fixture.F, Fixture.b("q0"), CompareOperator.EQUAL, Fixture.b("v0"))));
    fixture.out.call("3 cells at a time with a filter of pages", () -> sizes(Fixture.all(table, new Scan().setBatch(3).setFilter(new PageFilter(1)))));
  }

  private static void sizes(Fixture fixture, Table table) {
    fixture.out.call("in pieces of a byte", () -> sizes(Fixture.all(table, new Scan().setAllowPartialResults(true).setMaxResultSize(1).withStopRow(Fixture.b("b")))));
    fixture.out.call("in pieces of 500 bytes", () -> sizes(Fixture.all(table, new Scan().setAllowPartialResults(true).setMaxResultSize(500))));
    fixture.out.call("pieces put together", () -> sizes(Fixture.all(table, new Scan().setMaxResultSize(1))));
    fixture.out.call("pieces put together, backwards", () -> sizes(Fixture.all(table, new Scan().setMaxResultSize(300).setReversed(true))));
    fixture.out.call("pieces put together to batches", () -> sizes(Fixture.all(table, new Scan().setMaxResultSize(1).setBatch(4))));
    fixture.out.call("pieces put together, 3 rows", () -> sizes(Fixture.all(table, new Scan().setMaxResultSize(1).setLimit(3))));
  }

  private static List<String> sizes(List<Result> results) {
    List<String> sizes = new ArrayList<>();
    for (Result result : results) {
      sizes.add(Transcript.show(result.getRow()) + " " + result.size() + (result.mayHaveMoreCellsInRow() ? " and more" : ""));
    }
    return sizes;
  }

  /** What is put while a region is being scanned does not show in that region. */
  private static void moment(Transcript out, Table table) {
    out.call("rows of a scan that others write beside", () -> {
      List<Result> results = new ArrayList<>();
      try (var scanner = table.getScanner(new Scan().setCaching(1).withStopRow(Fixture.b("c")))) {
        results.add(scanner.next());
        table.put(rows(1));
        for (Result result : scanner) {
          results.add(result);
        }
      }
      return Scans.keys(results);
    });
    out.call("rows of the next", () -> Scans.keys(Fixture.all(table, new Scan())));
  }
}
