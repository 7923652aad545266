package halite.conformance;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.TreeSet;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.filter.*;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.Pair;

/** Reads filters written as Name(argument,...), for example All(Prefix(a),Value(!=,binary:x)). */
final class Filters {
  /** HBase's FilterAllFilter, which is among its tests and not in the jars of a server: no row at all. */
  private static final class FilterAll extends FilterBase {
    @Override
    public ReturnCode filterCell(Cell cell) {
      return ReturnCode.SKIP;
    }

    @Override
    public boolean hasFilterRow() {
      return true;
    }

    @Override
    public boolean filterRow() {
      return true;
    }
  }

  private final String text;
  private int at;

  private Filters(String text) {
    this.text = text;
  }

  static Filter parse(String text) {
    Filters parser = new Filters(text);
    Filter filter = parser.filter();
    if (parser.at != text.length()) {
      throw new IllegalStateException("text after the filter: " + text.substring(parser.at));
    }
    return filter;
  }

  static CompareOperator operator(String sign) {
    switch (sign) {
      case "=": return CompareOperator.EQUAL;
      case "!=": return CompareOperator.NOT_EQUAL;
      case "<": return CompareOperator.LESS;
      case "<=": return CompareOperator.LESS_OR_EQUAL;
      case ">": return CompareOperator.GREATER;
      case ">=": return CompareOperator.GREATER_OR_EQUAL;
      case "noop": return CompareOperator.NO_OP;
      default: throw new IllegalStateException("unknown operator " + sign);
    }
  }

  static ByteArrayComparable comparator(String text) {
    int colon = text.indexOf(':');
    String kind = colon < 0 ? text : text.substring(0, colon);
    String rest = colon < 0 ? "" : text.substring(colon + 1);
    switch (kind) {
      case "binary": return new BinaryComparator(Text.bytes(rest));
      case "prefix": return new BinaryPrefixComparator(Text.bytes(rest));
      case "substring": return new SubstringComparator(Bytes.toString(Text.bytes(rest)));
      case "regex": return new RegexStringComparator(Bytes.toString(Text.bytes(rest)));
      case "null": return new NullComparator();
      case "decimal": return new BigDecimalComparator(new BigDecimal(rest));
      case "component": {
        int separator = rest.indexOf(':');
        int offset = Integer.parseInt(rest.substring(0, separator));
        return new BinaryComponentComparator(Text.bytes(rest.substring(separator + 1)), offset);
      }
      case "long": return new LongComparator(Long.parseLong(rest));
      case "and": return new BitComparator(Text.bytes(rest), BitComparator.BitwiseOp.AND);
      case "or": return new BitComparator(Text.bytes(rest), BitComparator.BitwiseOp.OR);
      case "xor": return new BitComparator(Text.bytes(rest), BitComparator.BitwiseOp.XOR);
      default: throw new IllegalStateException("unknown comparator " + text);
    }
  }

  private Filter filter() {
    int open = text.indexOf('(', at);
    if (open < 0) {
      throw new IllegalStateException("a filter needs parentheses: " + text.substring(at));
    }
    String name = text.substring(at, open);
    at = open + 1;
    switch (name) {
      case "All": return new FilterList(FilterList.Operator.MUST_PASS_ALL, filters());
      case "One": return new FilterList(FilterList.Operator.MUST_PASS_ONE, filters());
      case "Skip": return new SkipFilter(filters().get(0));
      case "WhileMatch": return new WhileMatchFilter(filters().get(0));
      default: return leaf(name, arguments());
    }
  }

  private List<Filter> filters() {
    List<Filter> out = new ArrayList<>();
    while (text.charAt(at) != ')') {
      out.add(filter());
      if (text.charAt(at) == ',') {
        at++;
      }
    }
    at++;
    return out;
  }

  private List<String> arguments() {
    int close = text.indexOf(')', at);
    String inside = text.substring(at, close);
    at = close + 1;
    List<String> out = new ArrayList<>();
    if (!inside.isEmpty()) {
      for (String argument : inside.split(",", -1)) {
        out.add(argument);
      }
    }
    return out;
  }

  private static Filter leaf(String name, List<String> a) {
    switch (name) {
      case "Prefix": return new PrefixFilter(Text.bytes(a.get(0)));
      case "Row": return new RowFilter(operator(a.get(0)), comparator(a.get(1)));
      case "Family": return new FamilyFilter(operator(a.get(0)), comparator(a.get(1)));
      case "Qualifier": return new QualifierFilter(operator(a.get(0)), comparator(a.get(1)));
      case "Value": return new ValueFilter(operator(a.get(0)), comparator(a.get(1)));
      case "SingleColumnValue": {
        byte[][] column = Commands.column(a.get(0));
        return flags(new SingleColumnValueFilter(column[0], column[1], operator(a.get(1)), comparator(a.get(2))), a);
      }
      case "SingleColumnValueExclude": {
        byte[][] column = Commands.column(a.get(0));
        return flags(
            new SingleColumnValueExcludeFilter(column[0], column[1], operator(a.get(1)), comparator(a.get(2))), a);
      }
      case "ColumnValue": {
        byte[][] column = Commands.column(a.get(0));
        return new ColumnValueFilter(column[0], column[1], operator(a.get(1)), comparator(a.get(2)));
      }
      case "DependentColumn": {
        byte[][] column = Commands.column(a.get(0));
        boolean drop = a.contains("drop");
        if (a.size() > 2) {
          return new DependentColumnFilter(
              column[0], column[1], drop, operator(a.get(a.size() - 2)), comparator(a.get(a.size() - 1)));
        }
        return new DependentColumnFilter(column[0], column[1], drop);
      }
      case "ColumnPrefix": return new ColumnPrefixFilter(Text.bytes(a.get(0)));
      case "MultipleColumnPrefix": {
        byte[][] prefixes = new byte[a.size()][];
        for (int i = 0; i < prefixes.length; i++) {
          prefixes[i] = Text.bytes(a.get(i));
        }
        return new MultipleColumnPrefixFilter(prefixes);
      }
      case "ColumnRange": return columnRange(a.get(0), a.get(1));
      case "FilterAll": return new FilterAll();
      case "FirstKeyMatching": return firstKeyMatching(a);
      case "FirstKeyOnly": return new FirstKeyOnlyFilter();
      case "KeyOnly": return new KeyOnlyFilter(a.contains("length"));
      case "Page": return new PageFilter(Long.parseLong(a.get(0)));
      case "InclusiveStop": return new InclusiveStopFilter(Text.bytes(a.get(0)));
      case "ColumnCountGet": return new ColumnCountGetFilter(Integer.parseInt(a.get(0)));
      case "ColumnPagination": {
        int limit = Integer.parseInt(a.get(0));
        if (a.get(1).startsWith("from:")) {
          return new ColumnPaginationFilter(limit, Text.bytes(a.get(1).substring("from:".length())));
        }
        return new ColumnPaginationFilter(limit, Integer.parseInt(a.get(1)));
      }
      case "Timestamps": {
        boolean hint = a.contains("hint");
        List<Long> stamps = new ArrayList<>();
        for (String argument : a) {
          if (!argument.equals("hint")) {
            stamps.add(Long.parseLong(argument));
          }
        }
        return new TimestampsFilter(stamps, hint);
      }
      case "FuzzyRow": {
        List<Pair<byte[], byte[]>> keys = new ArrayList<>();
        for (int i = 0; i + 1 < a.size(); i += 2) {
          keys.add(new Pair<>(Text.bytes(a.get(i)), Text.bytes(a.get(i + 1))));
        }
        return new FuzzyRowFilter(keys);
      }
      case "MultiRowRange": {
        List<MultiRowRangeFilter.RowRange> ranges = new ArrayList<>();
        for (int i = 0; i + 1 < a.size(); i += 2) {
          ranges.add(rowRange(a.get(i), a.get(i + 1)));
        }
        return new MultiRowRangeFilter(ranges);
      }
      default: throw new IllegalStateException("unknown filter " + name);
    }
  }

  @SuppressWarnings("deprecation")
  private static Filter firstKeyMatching(List<String> qualifiers) {
    TreeSet<byte[]> set = new TreeSet<>(Bytes.BYTES_COMPARATOR);
    for (String qualifier : qualifiers) {
      set.add(Text.bytes(qualifier));
    }
    return new FirstKeyValueMatchingQualifiersFilter(set);
  }

  private static Filter flags(SingleColumnValueFilter filter, List<String> arguments) {
    filter.setFilterIfMissing(arguments.contains("ifmissing"));
    filter.setLatestVersionOnly(!arguments.contains("allversions"));
    return filter;
  }

  /** Bounds are written [a and a] when they are inside, (a cannot be written, so !a means outside; * is no bound. */
  private static Filter columnRange(String low, String high) {
    byte[] min = low.equals("*") ? null : Text.bytes(low.substring(1));
    byte[] max = high.equals("*") ? null : Text.bytes(high.substring(1));
    return new ColumnRangeFilter(min, low.startsWith("["), max, high.startsWith("["));
  }

  private static MultiRowRangeFilter.RowRange rowRange(String low, String high) {
    return new MultiRowRangeFilter.RowRange(
        Text.bytes(low.substring(1)), low.startsWith("["), Text.bytes(high.substring(1)), high.startsWith("["));
  }
}
