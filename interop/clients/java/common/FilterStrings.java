import java.util.List;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.filter.ParseFilter;

/** The filter language, as the client reads it. */
final class FilterStrings {
  private static final List<String> STRINGS = List.of("PrefixFilter('row1')", "KeyOnlyFilter()", "FirstKeyOnlyFilter() AND PageFilter(2)",
    "ColumnPrefixFilter('a') OR ColumnPrefixFilter('n')", "(PrefixFilter('row1') OR PrefixFilter('row4')) AND ValueFilter(!=, 'binary:v4')",
    "SKIP ValueFilter(!=, 'binary:v8')", "WHILE RowFilter(<, 'binary:row3')", "ColumnRangeFilter('a', true, 'b', false)", "TimestampsFilter(5, 12)",
    "SingleColumnValueFilter('f', 'a', >, 'binaryprefix:v1', true, true)", "QualifierFilter(=, 'regexstring:^[bn]')", "ColumnPaginationFilter(1, 2)",
    "ColumnCountGetFilter(1)", "InclusiveStopFilter('row1')", "DependentColumnFilter('f', 'b', false, >=, 'binary:v1')", "MultipleColumnPrefixFilter('a','c')",
    "FamilyFilter(=, 'substring:G')", "SingleColumnValueExcludeFilter('f', 'a', =, 'binary:v0')", "ColumnValueFilter('f', 'a', =, 'binary:v6')");

  private FilterStrings() {
  }

  static void run(Fixture fixture) throws Exception {
    try (Table table = fixture.table("strings")) {
      table.put(Filters.rows());
      for (String text : STRINGS) {
        fixture.out.call(text, () -> Fixture.all(table, new Scan().setFilter(new ParseFilter().parseFilterString(text))));
      }
    }
    fixture.drop("strings");
  }
}
