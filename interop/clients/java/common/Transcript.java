import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.regex.Pattern;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.DoNotRetryIOException;
import org.apache.hadoop.hbase.client.CheckAndMutateResult;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.RetriesExhaustedException;
import org.apache.hadoop.hbase.client.RetriesExhaustedWithDetailsException;
import org.apache.hadoop.hbase.util.Bytes;

/** What was asked and what came back, one line each, without anything that differs from run to run. */
final class Transcript {
  /** Timestamps from here on were given by the server: the programs' own are small numbers. */
  private static final long SERVER_TIME_MIN = 1_000_000_000_000L;
  private static final Pattern REGION_NAME = Pattern.compile("[0-9]{13}\\.[0-9a-f]{32}\\.?");

  /** Work without an answer. */
  interface Action {
    void run() throws Exception;
  }

  private final PrintStream out;

  Transcript(PrintStream out) {
    this.out = out;
  }

  void section(String title) {
    out.println();
    out.println("== " + title);
  }

  void line(String text) {
    out.println(text);
  }

  /** Prints what `work` answers or throws, and returns the answer, or null for an exception. */
  <T> T call(String what, Callable<T> work) {
    try {
      T answer = work.call();
      print(what, answer);
      return answer;
    } catch (Exception error) {
      line(what + ": throws " + show(error));
      return null;
    }
  }

  /** Prints whether `work` came to its end. */
  void run(String what, Action work) {
    call(what, () -> {
      work.run();
      return "done";
    });
  }

  private void print(String what, Object answer) {
    if (answer instanceof Iterable<?> || answer instanceof Object[]) {
      line(what + ":");
      Iterable<?> items = answer instanceof Iterable<?> list ? list : List.of((Object[]) answer);
      items.forEach(item -> line("  " + show(item)));
    } else {
      line(what + ": " + show(answer));
    }
  }

  static String show(Object value) {
    if (value == null) {
      return "null";
    } else if (value instanceof Result result) {
      return show(result);
    } else if (value instanceof CheckAndMutateResult result) {
      return result.isSuccess() + (result.getResult() == null ? "" : " with " + show(result.getResult()));
    } else if (value instanceof byte[] bytes) {
      return "'" + Bytes.toStringBinary(bytes) + "'";
    } else if (value instanceof boolean[] flags) {
      return java.util.Arrays.toString(flags);
    } else if (value instanceof Throwable error) {
      return show(error);
    } else if (value instanceof Map.Entry<?, ?> entry) {
      return show(entry.getKey()) + " = " + show(entry.getValue());
    }
    return REGION_NAME.matcher(value.toString()).replaceAll("(region)");
  }

  private static String show(Result result) {
    if (result.isCursor()) {
      return "cursor at " + show(result.getCursor().getRow());
    } else if (result.isEmpty()) {
      return "empty" + (result.getExists() == null ? "" : " exists=" + result.getExists());
    }
    StringBuilder text = new StringBuilder(Bytes.toStringBinary(result.getRow())).append(" {");
    String separator = "";
    for (Cell cell : result.rawCells()) {
      text.append(separator).append(show(cell));
      separator = ", ";
    }
    return text.append('}').append(result.mayHaveMoreCellsInRow() ? " and more" : "").toString();
  }

  private static String show(Cell cell) {
    String kind = cell.getType() == Cell.Type.Put ? "" : " " + cell.getType();
    byte[] value = CellUtil.cloneValue(cell);
    String shown = value.length > 64 ? value.length + " bytes, hash " + Bytes.hashCode(value) : Bytes.toStringBinary(value);
    return Bytes.toStringBinary(CellUtil.cloneFamily(cell)) + ":" + Bytes.toStringBinary(CellUtil.cloneQualifier(cell)) + "@"
      + time(cell.getTimestamp()) + kind + "=" + shown;
  }

  static String time(long timestamp) {
    return timestamp >= SERVER_TIME_MIN && timestamp != Long.MAX_VALUE ? "now" : Long.toString(timestamp);
  }

  /** The class a program would catch, whether retrying is ruled out, and the classes below for those that only wrap. */
  private static String show(Throwable thrown) {
    Throwable error = thrown;
    while ((error instanceof ExecutionException || error instanceof CompletionException) && error.getCause() != null) {
      error = error.getCause();
    }
    String name = error.getClass().getSimpleName() + (error instanceof DoNotRetryIOException ? " (do not retry)" : "");
    List<Throwable> causes = new ArrayList<>();
    if (error instanceof RetriesExhaustedWithDetailsException details) {
      causes.addAll(details.getCauses());
    } else if (error instanceof RetriesExhaustedException && error.getCause() != null) {
      causes.add(error.getCause());
    }
    TreeSet<String> names = new TreeSet<>();
    causes.forEach(cause -> names.add(cause.getClass().getSimpleName()));
    return names.isEmpty() ? name : name + " of " + causes.size() + " " + names;
  }
}
