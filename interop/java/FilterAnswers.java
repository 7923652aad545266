// Writes the answers of HBase's own filter classes, call by call, into the golden files of the engine's filters.
//
//   javac -cp "$HBASE_HOME/lib/*" -d /tmp/answers interop/java/FilterAnswers.java
//   java --add-opens java.base/java.nio=ALL-UNNAMED --add-exports java.base/jdk.internal.misc=ALL-UNNAMED \
//     -cp "/tmp/answers:$HBASE_HOME/lib/*" FilterAnswers crates/{engine,types}/testdata/filter/*.txt
//
// Without the two options FuzzyRowFilter finds no unaligned access and answers wrongly; HBase's own start script gives
// them. Lines "accepted" and "refused" with what follows them are ours and stay too.
// Lines "cell", "value", "filter", "comparator", "parse" and "#" of a file are questions and stay; the rest is replaced.
// "random COUNT SEED" instead of files prints questions. What the lines mean is told in the engine's
// scan/filter/tests.rs, which gives the same questions to Halite.

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellComparator;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.PrivateCellUtil;
import org.apache.hadoop.hbase.filter.*;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ComparatorProtos;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.Pair;

public class FilterAnswers {
  public static void main(String[] args) throws Exception {
    if (args[0].equals("random")) {
      new RandomQuestions(Long.parseLong(args[2])).print(Integer.parseInt(args[1]));
      return;
    }
    for (String name : args) {
      Path path = Path.of(name);
      List<Cell> cells = new ArrayList<>();
      List<byte[]> values = new ArrayList<>();
      StringBuilder out = new StringBuilder();
      boolean ours = false;
      for (String line : Files.readAllLines(path)) {
        String kind = line.split(" ", 2)[0];
        switch (kind) {
          case "cell" -> cells.add(cell(line));
          case "value" -> values.add(bytes(line.substring(6)));
          case "filter", "comparator", "parse", "#" -> { }
          default -> {
            // "accepted" and "refused" tell where we differ on purpose; their answers are ours.
            ours |= kind.equals("accepted") || kind.equals("refused");
            if (ours) {
              out.append(line).append('\n');
            }
            continue;
          }
        }
        ours = false;
        out.append(line).append('\n');
        switch (kind) {
          case "filter" -> answerFilter(line.substring(7), cells, out);
          case "comparator" -> answerComparator(line.substring(11), values, out);
          case "parse" -> answerParse(line.length() > 6 ? line.substring(6) : "", out);
          default -> { }
        }
      }
      Files.writeString(path, out.toString());
    }
  }

  static Cell cell(String line) {
    String[] part = line.split(" ");
    return new KeyValue(bytes(part[1]), bytes(part[2]), bytes(part[3]), Long.parseLong(part[4]), KeyValue.Type.valueOf(part[5]), bytes(part[6]));
  }

  // ---- a scan as far as a filter sees it

  static void answerFilter(String text, List<Cell> cells, StringBuilder out) {
    for (boolean reversed : new boolean[] {false, true}) {
      try {
        Filter filter = new Parser(text).filter();
        filter.setReversed(reversed);
        out.append(reversed ? "  reverse" : "  forward");
        String answer = scanInTime(filter, reversed, cells);
        if (answer == null) {
          out.append(" hangs\n");
        } else {
          out.append(filter.hasFilterRow() ? " whole-rows" : "").append('\n').append(answer);
        }
      } catch (Exception error) {
        out.append("  error\n");
        return;
      }
    }
  }

  // FuzzyRowFilter loops for ever in some reverse scans (a hint that is the row at hand is made again and again).
  static String scanInTime(Filter filter, boolean reversed, List<Cell> cells) throws Exception {
    StringBuilder out = new StringBuilder();
    java.util.concurrent.FutureTask<String> task = new java.util.concurrent.FutureTask<>(() -> {
      scan(filter, reversed, cells, out);
      return out.toString();
    });
    Thread thread = new Thread(task);
    thread.setDaemon(true);
    thread.start();
    try {
      return task.get(2, java.util.concurrent.TimeUnit.SECONDS);
    } catch (java.util.concurrent.TimeoutException late) {
      return null;
    }
  }

  static void scan(Filter filter, boolean reversed, List<Cell> cells, StringBuilder out) throws java.io.IOException {
    Map<String, Cell> positions = new HashMap<>();
    Map<String, List<Cell>> rows = new LinkedHashMap<>();
    for (Cell cell : cells) {
      rows.computeIfAbsent(print(CellUtil.cloneRow(cell)), key -> new ArrayList<>()).add(cell);
    }
    List<String> order = new ArrayList<>(rows.keySet());
    if (reversed) {
      java.util.Collections.reverse(order);
    }
    for (String row : order) {
      List<Cell> here = rows.get(row);
      if (here.stream().noneMatch(cell -> isAhead(cell, positions, reversed))) {
        continue;
      }
      if (filter.filterAllRemaining()) {
        out.append("    end\n");
        return;
      }
      filter.reset();
      out.append("    ").append(row).append(':');
      if (filter.filterRowKey(here.get(0))) {
        out.append(" filtered\n");
        continue;
      }
      cells(filter, reversed, here, positions, out);
    }
  }

  static void cells(Filter filter, boolean reversed, List<Cell> here, Map<String, Cell> positions, StringBuilder out) throws java.io.IOException {
    List<Cell> taken = new ArrayList<>();
    Map<Cell, Integer> numbers = new java.util.IdentityHashMap<>();
    for (int number = 0; number < here.size(); number++) {
      Cell cell = here.get(number);
      String family = print(CellUtil.cloneFamily(cell));
      if (!isAhead(cell, positions, reversed)) {
        continue;
      }
      if (filter.filterAllRemaining()) {
        out.append(" end");
        break;
      }
      Filter.ReturnCode code = filter.filterCell(cell);
      out.append(' ').append(number).append(name(code));
      switch (code) {
        case INCLUDE, INCLUDE_AND_NEXT_COL, INCLUDE_AND_SEEK_NEXT_ROW -> {
          Cell given = filter.transformCell(cell);
          if (!Bytes.equals(CellUtil.cloneValue(given), CellUtil.cloneValue(cell))) {
            out.append('=').append(print(CellUtil.cloneValue(given)));
          }
          taken.add(cell);
          numbers.put(cell, number);
        }
        default -> { }
      }
      switch (code) {
        case INCLUDE_AND_NEXT_COL, NEXT_COL -> positions.put(family, PrivateCellUtil.createLastOnRowCol(cell));
        case INCLUDE_AND_SEEK_NEXT_ROW, NEXT_ROW -> positions.put(family, PrivateCellUtil.createLastOnRow(cell));
        case SEEK_NEXT_USING_HINT -> {
          Cell hint = filter.getNextCellHint(cell);
          out.append('>').append(hint == null ? "none" : printKey(hint));
          if (hint != null) {
            positions.put(family, hint);
          }
        }
        default -> { }
      }
    }
    filter.filterRowCells(taken);
    if (!taken.isEmpty()) {
      out.append(" kept");
      for (Cell cell : taken) {
        out.append(' ').append(numbers.get(cell));
      }
      out.append(filter.filterRow() ? " filtered" : "");
    }
    out.append('\n');
  }

  // NEXT_ROW and hints move one family only: each has a scanner of its own.
  static boolean isAhead(Cell cell, Map<String, Cell> positions, boolean reversed) {
    Cell position = positions.get(print(CellUtil.cloneFamily(cell)));
    if (position == null) {
      return true;
    }
    int rows = CellComparator.getInstance().compareRows(cell, position);
    if (rows == 0) {
      // The first of a row, as hints to rows are, stands before all families of the row.
      return CellComparator.getInstance().compare(cell, position) >= 0;
    }
    return reversed ? rows < 0 : rows > 0;
  }

  static String name(Filter.ReturnCode code) {
    return switch (code) {
      case INCLUDE -> "I";
      case INCLUDE_AND_NEXT_COL -> "IC";
      case INCLUDE_AND_SEEK_NEXT_ROW -> "IR";
      case SKIP -> "S";
      case NEXT_COL -> "C";
      case NEXT_ROW -> "R";
      case SEEK_NEXT_USING_HINT -> "H";
    };
  }

  static String printKey(Cell cell) {
    return print(CellUtil.cloneRow(cell)) + "/" + print(CellUtil.cloneFamily(cell)) + "/" + print(CellUtil.cloneQualifier(cell)) + "/"
        + cell.getTimestamp() + "/" + (cell.getTypeByte() & 0xff);
  }

  // ---- comparators

  static void answerComparator(String text, List<byte[]> values, StringBuilder out) {
    out.append("  ");
    try {
      ByteArrayComparable comparator = new Parser(text).comparator();
      for (byte[] value : values) {
        try {
          int given = comparator.compareTo(value, 0, value.length);
          out.append(given > 0 ? '<' : given < 0 ? '>' : '=');
        } catch (RuntimeException error) {
          out.append('!');
        }
      }
    } catch (RuntimeException error) {
      out.append("error");
    }
    out.append('\n');
  }

  // ---- the filter language: what it was read as, in the notation of "filter" lines

  static void answerParse(String text, StringBuilder out) {
    java.io.PrintStream err = System.err;
    System.setErr(new java.io.PrintStream(java.io.OutputStream.nullOutputStream()));
    try {
      String read = show(new ParseFilter().parseFilterString(bytes(text)));
      out.append("  ").append(read).append('\n');
    } catch (Exception error) {
      out.append("  error\n");
    } finally {
      System.setErr(err);
    }
  }

  static String show(Filter filter) throws Exception {
    if (filter instanceof FilterList list) {
      StringBuilder out = new StringBuilder(list.getOperator() == FilterList.Operator.MUST_PASS_ALL ? "(all" : "(one");
      for (Filter inner : list.getFilters()) {
        out.append(' ').append(show(inner));
      }
      return out.append(')').toString();
    }
    if (filter instanceof SkipFilter skip) {
      return "(skip " + show(skip.getFilter()) + ")";
    }
    if (filter instanceof WhileMatchFilter match) {
      return "(while " + show(match.getFilter()) + ")";
    }
    if (filter instanceof DependentColumnFilter dependent) {
      String check = dependent.getComparator() == null ? "" : " " + show(dependent.getCompareOperator()) + " " + show(dependent.getComparator());
      return "(dep " + print(dependent.getFamily()) + " " + print(dependent.getQualifier()) + " " + dependent.getDropDependentColumn() + check + ")";
    }
    if (filter instanceof CompareFilter compare) {
      String name = compare.getClass().getSimpleName().replace("Filter", "").toLowerCase();
      return "(" + name + " " + show(compare.getCompareOperator()) + " " + show(compare.getComparator()) + ")";
    }
    if (filter instanceof SingleColumnValueFilter single) {
      return "(scv " + print(single.getFamily()) + " " + print(single.getQualifier()) + " " + show(single.getCompareOperator()) + " "
          + show(single.getComparator()) + " " + single.getFilterIfMissing() + " " + single.getLatestVersionOnly() + " "
          + (filter instanceof SingleColumnValueExcludeFilter) + ")";
    }
    if (filter instanceof ColumnValueFilter column) {
      return "(cv " + print(column.getFamily()) + " " + print(column.getQualifier()) + " " + show(column.getCompareOperator()) + " "
          + show(column.getComparator()) + ")";
    }
    if (filter instanceof PrefixFilter prefix) {
      return "(prefix " + print(prefix.getPrefix()) + ")";
    }
    if (filter instanceof ColumnPrefixFilter prefix) {
      return "(colprefix " + print(prefix.getPrefix()) + ")";
    }
    if (filter instanceof MultipleColumnPrefixFilter prefixes) {
      StringBuilder out = new StringBuilder("(colprefixes");
      for (byte[] prefix : prefixes.getPrefix()) {
        out.append(' ').append(print(prefix));
      }
      return out.append(')').toString();
    }
    if (filter instanceof ColumnRangeFilter range) {
      return "(colrange " + (range.getMinColumn() == null ? "-" : print(range.getMinColumn())) + " " + range.getMinColumnInclusive() + " "
          + (range.getMaxColumn() == null ? "-" : print(range.getMaxColumn())) + " " + range.getMaxColumnInclusive() + ")";
    }
    if (filter instanceof PageFilter page) {
      return "(page " + page.getPageSize() + ")";
    }
    if (filter instanceof InclusiveStopFilter stop) {
      return "(stop " + print(stop.getStopRowKey()) + ")";
    }
    if (filter instanceof ColumnCountGetFilter count) {
      return "(count " + count.getLimit() + ")";
    }
    if (filter instanceof ColumnPaginationFilter pages) {
      return "(pages " + pages.getLimit() + " " + pages.getOffset() + ")";
    }
    if (filter instanceof TimestampsFilter stamps) {
      StringBuilder out = new StringBuilder("(stamps false");
      for (long stamp : stamps.getTimestamps()) {
        out.append(' ').append(stamp);
      }
      return out.append(')').toString();
    }
    if (filter instanceof KeyOnlyFilter) {
      return "(keyonly " + (filter.toByteArray().length > 1 && filter.toByteArray()[1] == 1) + ")";
    }
    return "(first)";
  }

  static String show(CompareOperator op) {
    return switch (op) {
      case LESS -> "<";
      case LESS_OR_EQUAL -> "<=";
      case EQUAL -> "=";
      case NOT_EQUAL -> "!=";
      case GREATER_OR_EQUAL -> ">=";
      case GREATER -> ">";
      case NO_OP -> "noop";
    };
  }

  static String show(ByteArrayComparable comparator) {
    String value = print(comparator.getValue());
    return switch (comparator.getClass().getSimpleName()) {
      case "BinaryComparator" -> "(binary " + value + ")";
      case "BinaryPrefixComparator" -> "(bprefix " + value + ")";
      case "RegexStringComparator" -> "(regex " + value + flags(comparator) + ")";
      default -> "(substring " + value + ")";
    };
  }

  /** The flags of a regular expression, if they are not those it has without anybody saying so. */
  static String flags(ByteArrayComparable regex) {
    try {
      int flags = ComparatorProtos.RegexStringComparator.parseFrom(regex.toByteArray()).getPatternFlags();
      return flags == java.util.regex.Pattern.DOTALL ? "" : " " + flags;
    } catch (java.io.IOException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  // ---- the notation of questions

  static byte[] bytes(String text) {
    return text.equals("''") ? new byte[0] : Bytes.toBytesBinary(text);
  }

  static String print(byte[] bytes) {
    if (bytes.length == 0) {
      return "''";
    }
    StringBuilder out = new StringBuilder();
    for (byte each : bytes) {
      boolean plain = each > ' ' && each < 0x7f && each != '\\' && each != '(' && each != ')';
      out.append(plain ? String.valueOf((char) each) : String.format("\\x%02X", each));
    }
    return out.toString();
  }

  static class Parser {
    private final String[] tokens;
    private int at;

    Parser(String text) {
      tokens = text.replace("(", " ( ").replace(")", " ) ").trim().split(" +");
    }

    String word() {
      return tokens[at++];
    }

    byte[] bytes() {
      return FilterAnswers.bytes(word());
    }

    boolean more() {
      return !tokens[at].equals(")");
    }

    List<Filter> filters() {
      List<Filter> filters = new ArrayList<>();
      while (more()) {
        filters.add(filter());
      }
      return filters;
    }

    byte[][] words() {
      List<byte[]> words = new ArrayList<>();
      while (more()) {
        words.add(bytes());
      }
      return words.toArray(new byte[0][]);
    }

    byte[] bound() {
      byte[] bound = bytes();
      return Bytes.toString(bound).equals("-") ? null : bound;
    }

    boolean yes() {
      return word().equals("true");
    }

    CompareOperator op() {
      return switch (word()) {
        case "<" -> CompareOperator.LESS;
        case "<=" -> CompareOperator.LESS_OR_EQUAL;
        case "=" -> CompareOperator.EQUAL;
        case "!=" -> CompareOperator.NOT_EQUAL;
        case ">=" -> CompareOperator.GREATER_OR_EQUAL;
        case ">" -> CompareOperator.GREATER;
        default -> CompareOperator.NO_OP;
      };
    }

    Filter filter() {
      at++;
      Filter filter = switch (word()) {
        case "row" -> new RowFilter(op(), comparator());
        case "family" -> new FamilyFilter(op(), comparator());
        case "qualifier" -> new QualifierFilter(op(), comparator());
        case "value" -> new ValueFilter(op(), comparator());
        case "scv" -> {
          byte[] family = bytes();
          byte[] qualifier = bytes();
          CompareOperator op = op();
          ByteArrayComparable comparator = comparator();
          boolean missing = yes();
          boolean latest = yes();
          SingleColumnValueFilter single = yes() ? new SingleColumnValueExcludeFilter(family, qualifier, op, comparator)
              : new SingleColumnValueFilter(family, qualifier, op, comparator);
          single.setFilterIfMissing(missing);
          single.setLatestVersionOnly(latest);
          yield single;
        }
        case "cv" -> new ColumnValueFilter(bytes(), bytes(), op(), comparator());
        case "dep" -> {
          byte[] family = bytes();
          byte[] qualifier = bytes();
          boolean drop = yes();
          yield more() ? new DependentColumnFilter(family, qualifier, drop, op(), comparator())
              : new DependentColumnFilter(family, qualifier, drop);
        }
        case "prefix" -> new PrefixFilter(bytes());
        case "page" -> new PageFilter(Long.parseLong(word()));
        case "stop" -> new InclusiveStopFilter(bytes());
        case "random" -> new RandomRowFilter(Float.parseFloat(word()));
        case "fuzzy" -> {
          List<Pair<byte[], byte[]>> keys = new ArrayList<>();
          while (more()) {
            byte[] key = bytes();
            byte[] mask = bytes();
            for (int position = 0; position < mask.length; position++) {
              mask[position] -= '0';
            }
            keys.add(new Pair<>(key, mask));
          }
          yield new FuzzyRowFilter(keys);
        }
        case "ranges" -> {
          List<MultiRowRangeFilter.RowRange> ranges = new ArrayList<>();
          while (more()) {
            boolean startInclusive = word().equals("from");
            byte[] start = bytes();
            boolean stopInclusive = word().equals("through");
            ranges.add(new MultiRowRangeFilter.RowRange(start, startInclusive, bytes(), stopInclusive));
          }
          yield new MultiRowRangeFilter(ranges);
        }
        case "colprefix" -> new ColumnPrefixFilter(bytes());
        case "colprefixes" -> new MultipleColumnPrefixFilter(words());
        case "colrange" -> new ColumnRangeFilter(bound(), yes(), bound(), yes());
        case "first" -> new FirstKeyOnlyFilter();
        case "firstmatch" -> {
          TreeSet<byte[]> set = new TreeSet<>(Bytes.BYTES_COMPARATOR);
          set.addAll(List.of(words()));
          yield new FirstKeyValueMatchingQualifiersFilter(set);
        }
        case "keyonly" -> new KeyOnlyFilter(yes());
        case "count" -> new ColumnCountGetFilter(Integer.parseInt(word()));
        case "pages" -> new ColumnPaginationFilter(Integer.parseInt(word()), Integer.parseInt(word()));
        case "pagesat" -> new ColumnPaginationFilter(Integer.parseInt(word()), bytes());
        case "stamps" -> {
          boolean hint = yes();
          List<Long> stamps = new ArrayList<>();
          while (more()) {
            stamps.add(Long.parseLong(word()));
          }
          yield new TimestampsFilter(stamps, hint);
        }
        case "while" -> new WhileMatchFilter(filter());
        case "skip" -> new SkipFilter(filter());
        case "all" -> new FilterList(FilterList.Operator.MUST_PASS_ALL, filters());
        case "one" -> new FilterList(FilterList.Operator.MUST_PASS_ONE, filters());
        default -> throw new IllegalArgumentException("unknown filter " + tokens[at - 1]);
      };
      at++;
      return filter;
    }

    ByteArrayComparable comparator() {
      at++;
      ByteArrayComparable comparator = switch (word()) {
        case "binary" -> new BinaryComparator(bytes());
        case "bprefix" -> new BinaryPrefixComparator(bytes());
        case "component" -> new BinaryComponentComparator(bytes(), Integer.parseInt(word()));
        case "bit" -> {
          BitComparator.BitwiseOp op = BitComparator.BitwiseOp.valueOf(word().toUpperCase());
          yield new BitComparator(bytes(), op);
        }
        case "substring" -> new SubstringComparator(new String(bytes(), StandardCharsets.UTF_8));
        case "regex" -> {
          String pattern = new String(bytes(), StandardCharsets.UTF_8);
          RegexStringComparator regex = more() ? new RegexStringComparator(pattern, Integer.parseInt(word())) : new RegexStringComparator(pattern);
          if (more()) {
            regex.setCharset(java.nio.charset.Charset.forName(word()));
          }
          yield regex;
        }
        case "long" -> new LongComparator(Long.parseLong(word()));
        case "decimal" -> new BigDecimalComparator(new BigDecimal(word()));
        case "null" -> new NullComparator();
        default -> throw new IllegalArgumentException("unknown comparator " + tokens[at - 1]);
      };
      at++;
      return comparator;
    }
  }

  // ---- questions by chance

  static class RandomQuestions {
    private final Random random;

    RandomQuestions(long seed) {
      random = new Random(seed);
    }

    void print(int count) {
      List<Cell> cells = new ArrayList<>();
      TreeSet<String> seen = new TreeSet<>();
      while (seen.size() < 60) {
        String line = row() + " " + pick("f", "g") + " " + column() + " " + random.nextInt(6);
        if (seen.add(line)) {
          cells.add(cell("cell " + line + " Put " + value()));
        }
      }
      cells.sort(CellComparator.getInstance());
      for (Cell cell : cells) {
        System.out.println("cell " + printKey(cell).replaceFirst("/\\d+$", "").replace('/', ' ') + " Put " + FilterAnswers.print(CellUtil.cloneValue(cell)));
      }
      for (int number = 0; number < count; number++) {
        System.out.println("filter " + filter(3));
      }
    }

    String pick(String... words) {
      return words[random.nextInt(words.length)];
    }

    String letters(String alphabet, int min, int max) {
      StringBuilder out = new StringBuilder();
      for (int length = min + random.nextInt(max - min + 1); length > 0; length--) {
        out.append(alphabet.charAt(random.nextInt(alphabet.length())));
      }
      return out.isEmpty() ? "''" : out.toString();
    }

    String row() {
      return letters("abc", 3, 4);
    }

    String column() {
      return letters("pq", 0, 2);
    }

    String value() {
      return letters("xyz", 0, 2);
    }

    String yes() {
      return pick("true", "false");
    }

    String test(String given) {
      String comparator = pick("binary", "binary", "bprefix", "substring");
      String op = comparator.equals("substring") ? pick("=", "!=") : pick("<", "<=", "=", "!=", ">=", ">");
      return op + " (" + comparator + " " + given + ")";
    }

    String filter(int depth) {
      if (depth > 0 && random.nextInt(3) > 0) {
        return switch (random.nextInt(8)) {
          // In reverse HBase does not tell the inner filter of the direction, so only filters without one go in here.
          case 0 -> "(while (value " + test(value()) + "))";
          case 1 -> "(skip (qualifier " + test(column()) + "))";
          default -> {
            StringBuilder out = new StringBuilder(pick("(all", "(one"));
            for (int inner = random.nextInt(4); inner >= 0; inner--) {
              out.append(' ').append(filter(depth - 1));
            }
            yield out.append(')').toString();
          }
        };
      }
      return switch (random.nextInt(21)) {
        case 0 -> "(row " + test(row()) + ")";
        case 1 -> "(family " + test(pick("f", "g")) + ")";
        case 2 -> "(qualifier " + test(column()) + ")";
        case 3 -> "(value " + test(value()) + ")";
        case 4, 5 -> "(scv " + pick("f", "g") + " " + column() + " " + test(value()) + " " + yes() + " " + yes() + " " + yes() + ")";
        case 6 -> "(cv " + pick("f", "g") + " " + column() + " " + test(value()) + ")";
        case 7 -> "(dep " + pick("f", "g") + " " + column() + " " + yes() + pick("", " " + test(value())) + ")";
        case 8 -> "(prefix " + letters("abc", 1, 3) + ")";
        case 9 -> "(page " + random.nextInt(4) + ")";
        case 10 -> "(stop " + row() + ")";
        case 11 -> {
          StringBuilder out = new StringBuilder("(fuzzy");
          for (int keys = random.nextInt(3); keys >= 0; keys--) {
            out.append(' ').append(letters("abc", 3, 3)).append(' ').append(letters("01", 3, 3));
          }
          yield out.append(')').toString();
        }
        case 12 -> {
          StringBuilder out = new StringBuilder("(ranges");
          for (int ranges = random.nextInt(3); ranges >= 0; ranges--) {
            String a = row();
            String b = row();
            boolean ordered = a.compareTo(b) < 0;
            out.append(pick(" from ", " after ")).append(ordered ? a : b).append(pick(" to ", " through ")).append(ordered ? b : a + "a");
          }
          yield out.append(')').toString();
        }
        case 13 -> "(colprefix " + letters("pq", 1, 2) + ")";
        case 14 -> "(colprefixes" + pick(" p", " p q", " pq qp", " pp pq", " p pq", " ''") + ")";
        case 15 -> "(colrange " + pick("-", column()) + " " + yes() + " " + pick("-", column()) + " " + yes() + ")";
        case 16 -> pick("(first)", "(firstmatch pq q)", "(keyonly true)", "(keyonly false)");
        case 17 -> "(count " + random.nextInt(4) + ")";
        case 18 -> "(pages " + random.nextInt(4) + " " + random.nextInt(3) + ")";
        case 19 -> "(pagesat " + random.nextInt(4) + " " + column() + ")";
        default -> "(stamps " + yes() + pick("", " 1", " 2 4", " 0 3 5") + ")";
      };
    }
  }
}
