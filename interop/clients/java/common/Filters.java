import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.filter.*;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.Pair;

/** Every filter and comparator of the client, forwards, backwards, in pieces and for one row. */
final class Filters {
  private static final byte[] A = Fixture.b("a");

  private Filters() {
  }

  static void run(Fixture fixture) throws Exception {
    try (Table table = fixture.table("filter", "row3")) {
      fixture.out.run("fill", () -> table.put(rows()));
      Map<String, Filter> filters = new LinkedHashMap<>();
      ofRows(filters);
      ofCells(filters);
      ofValues(filters);
      lists(filters);
      for (Map.Entry<String, Filter> entry : filters.entrySet()) {
        Filter filter = entry.getValue();
        fixture.scan(entry.getKey(), table, new Scan().setFilter(filter));
        // Backwards HBase cannot load families on demand, and a fuzzy filter leaves a region that cannot be closed any more.
        if (!(filter instanceof FuzzyRowFilter)) {
          Scan backwards = new Scan().setFilter(filter).setReversed(true).setLoadColumnFamiliesOnDemand(false);
          fixture.out.call("  backwards", () -> Scans.keys(Fixture.all(table, backwards)));
        }
        fixture.out.call("  in pieces of 2", () -> Fixture.all(table, new Scan().setFilter(filter).setBatch(2)).size());
        fixture.out.call("  one row", () -> table.get(new Get(Fixture.b("row2")).setFilter(filter)).size());
      }
    }
    fixture.drop("filter");
  }

  /** Rows `row0` to `row5` of columns `a` to `c`, the values counting up, some older, some missing, one empty. */
  static List<Put> rows() {
    List<Put> puts = new ArrayList<>();
    for (int row = 0; row < 6; row++) {
      Put put = new Put(Fixture.b("row" + row));
      for (int column = 0; column < 3; column++) {
        if ((row + column) % 4 != 3) {
          put.addColumn(Fixture.F, Fixture.b(String.valueOf((char) ('a' + column))), 10 + row, Fixture.b("v" + (row * 3 + column)));
        }
        put.addColumn(Fixture.F, A, 5, Fixture.b("older"));
      }
      puts.add(put.addColumn(Fixture.G, Fixture.b("n"), 10 + row, Bytes.toBytes((long) row - 2)));
    }
    puts.get(4).addColumn(Fixture.G, Fixture.b("empty"), 1, new byte[0]);
    return puts;
  }

  private static void ofRows(Map<String, Filter> filters) {
    filters.put("PrefixFilter", new PrefixFilter(Fixture.b("row2")));
    filters.put("PageFilter", new PageFilter(2));
    filters.put("InclusiveStopFilter", new InclusiveStopFilter(Fixture.b("row2")));
    filters.put("RandomRowFilter never", new RandomRowFilter(-1));
    filters.put("RandomRowFilter always", new RandomRowFilter(2));
    filters.put("FuzzyRowFilter", new FuzzyRowFilter(Arrays.asList(new Pair<>(Fixture.b("?ow4"), new byte[] {1, 0, 0, 0}), new Pair<>(Fixture.b("row1"), new byte[4]))));
    filters.put("MultiRowRangeFilter", new MultiRowRangeFilter(Arrays.asList(new MultiRowRangeFilter.RowRange("row0", true, "row2", false),
      new MultiRowRangeFilter.RowRange("row4", false, "row5", true))));
    filters.put("RowFilter BinaryComponentComparator", new RowFilter(CompareOperator.GREATER, new BinaryComponentComparator(Fixture.b("2"), 3)));
    for (CompareOperator operator : CompareOperator.values()) {
      filters.put("RowFilter " + operator, new RowFilter(operator, new BinaryComparator(Fixture.b("row2"))));
    }
  }

  private static void ofCells(Map<String, Filter> filters) {
    filters.put("KeyOnlyFilter", new KeyOnlyFilter());
    filters.put("KeyOnlyFilter with lengths", new KeyOnlyFilter(true));
    filters.put("FirstKeyOnlyFilter", new FirstKeyOnlyFilter());
    filters.put("ColumnCountGetFilter", new ColumnCountGetFilter(2));
    filters.put("ColumnPaginationFilter", new ColumnPaginationFilter(1, 1));
    filters.put("ColumnPaginationFilter from a column", new ColumnPaginationFilter(1, Fixture.b("b")));
    filters.put("ColumnPrefixFilter", new ColumnPrefixFilter(Fixture.b("b")));
    filters.put("MultipleColumnPrefixFilter", new MultipleColumnPrefixFilter(new byte[][] {Fixture.b("a"), Fixture.b("n")}));
    filters.put("ColumnRangeFilter", new ColumnRangeFilter(Fixture.b("a"), false, Fixture.b("c"), true));
    filters.put("TimestampsFilter", new TimestampsFilter(Arrays.asList(5L, 12L, 14L)));
    filters.put("TimestampsFilter with hints", new TimestampsFilter(Arrays.asList(12L), true));
    filters.put("FamilyFilter", new FamilyFilter(CompareOperator.EQUAL, new BinaryComparator(Fixture.G)));
    filters.put("FamilyFilter less", new FamilyFilter(CompareOperator.LESS, new BinaryComparator(Fixture.G)));
    filters.put("QualifierFilter", new QualifierFilter(CompareOperator.GREATER, new BinaryComparator(A)));
  }

  private static void ofValues(Map<String, Filter> filters) {
    Map<String, ByteArrayComparable> comparators = new LinkedHashMap<>();
    comparators.put("BinaryComparator", new BinaryComparator(Fixture.b("v8")));
    comparators.put("BinaryPrefixComparator", new BinaryPrefixComparator(Fixture.b("v1")));
    comparators.put("BitComparator", new BitComparator(Bytes.toBytes(1L), BitComparator.BitwiseOp.AND));
    comparators.put("LongComparator", new LongComparator(1));
    comparators.put("NullComparator", new NullComparator());
    comparators.put("RegexStringComparator", new RegexStringComparator("^v1[0-5]$"));
    comparators.put("SubstringComparator", new SubstringComparator("V1"));
    comparators.forEach((name, comparator) -> {
      filters.put("ValueFilter equal " + name, new ValueFilter(CompareOperator.EQUAL, comparator));
      filters.put("ValueFilter not equal " + name, new ValueFilter(CompareOperator.NOT_EQUAL, comparator));
    });
    filters.put("ValueFilter less", new ValueFilter(CompareOperator.LESS, new BinaryComparator(Fixture.b("v13"))));
    filters.put("ValueFilter bits or", new ValueFilter(CompareOperator.EQUAL, new BitComparator(Bytes.toBytes(0L), BitComparator.BitwiseOp.OR)));
    filters.put("ValueFilter bits xor", new ValueFilter(CompareOperator.EQUAL, new BitComparator(Bytes.toBytes(1L), BitComparator.BitwiseOp.XOR)));
    SingleColumnValueFilter single = new SingleColumnValueFilter(Fixture.F, A, CompareOperator.GREATER_OR_EQUAL, Fixture.b("v3"));
    filters.put("SingleColumnValueFilter", single);
    SingleColumnValueFilter strict = new SingleColumnValueFilter(Fixture.F, Fixture.b("b"), CompareOperator.NOT_EQUAL, Fixture.b("v4"));
    strict.setFilterIfMissing(true);
    filters.put("SingleColumnValueFilter, must be there", strict);
    SingleColumnValueFilter any = new SingleColumnValueFilter(Fixture.F, A, CompareOperator.EQUAL, new BinaryPrefixComparator(Fixture.b("old")));
    any.setLatestVersionOnly(false);
    filters.put("SingleColumnValueFilter, any version", any);
    filters.put("SingleColumnValueFilter of numbers", new SingleColumnValueFilter(Fixture.G, Fixture.b("n"), CompareOperator.GREATER, new LongComparator(0)));
    filters.put("SingleColumnValueExcludeFilter", new SingleColumnValueExcludeFilter(Fixture.F, A, CompareOperator.LESS, Fixture.b("v3")));
    filters.put("ColumnValueFilter", new ColumnValueFilter(Fixture.F, A, CompareOperator.GREATER, Fixture.b("v3")));
    filters.put("DependentColumnFilter", new DependentColumnFilter(Fixture.F, Fixture.b("b")));
    filters.put("DependentColumnFilter, without it, of a value", new DependentColumnFilter(Fixture.F, Fixture.b("b"), true, CompareOperator.GREATER,
      new BinaryComparator(Fixture.b("v13"))));
  }

  private static void lists(Map<String, Filter> filters) {
    Filter prefix = new PrefixFilter(Fixture.b("row2"));
    Filter first = new ColumnPrefixFilter(A);
    Filter value = new ValueFilter(CompareOperator.EQUAL, new SubstringComparator("v1"));
    filters.put("SkipFilter", new SkipFilter(new ValueFilter(CompareOperator.NOT_EQUAL, new BinaryComparator(Fixture.b("v8")))));
    filters.put("WhileMatchFilter", new WhileMatchFilter(new RowFilter(CompareOperator.NOT_EQUAL, new BinaryComparator(Fixture.b("row2")))));
    filters.put("WhileMatchFilter of values", new WhileMatchFilter(new ValueFilter(CompareOperator.NOT_EQUAL, new BinaryComparator(Fixture.b("v8")))));
    filters.put("both", new FilterList(first, value));
    filters.put("one", new FilterList(FilterList.Operator.MUST_PASS_ONE, first, value));
    filters.put("none to ask", new FilterList());
    filters.put("lists in lists", new FilterList(FilterList.Operator.MUST_PASS_ONE, new FilterList(prefix, value), new FilterList(first, new PageFilter(2))));
    filters.put("pages of both", new FilterList(value, new PageFilter(2)));
    filters.put("hints of both", new FilterList(new ColumnRangeFilter(A, true, Fixture.b("c"), true), new MultipleColumnPrefixFilter(
      new byte[][] {Fixture.b("b"), Fixture.b("n")})));
    filters.put("hints of one", new FilterList(FilterList.Operator.MUST_PASS_ONE, new ColumnPrefixFilter(Fixture.b("c")), new ColumnPrefixFilter(Fixture.b("n"))));
    filters.put("keys only of both", new FilterList(new FirstKeyOnlyFilter(), new KeyOnlyFilter()));
    filters.put("skip within one", new FilterList(FilterList.Operator.MUST_PASS_ONE, new SkipFilter(value), prefix));
  }
}
