package halite.conformance;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.KeepDeletedCells;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.*;
import org.apache.hadoop.hbase.io.TimeRange;
import org.apache.hadoop.hbase.regionserver.BloomType;

/** Turns the words of a command into HBase's own request objects. */
final class Commands {
  private Commands() {}

  static byte[][] column(String token) {
    int colon = token.indexOf(':');
    if (colon < 0) {
      throw new IllegalStateException("a column needs a colon: " + token);
    }
    return new byte[][] {family(token.substring(0, colon)), Text.bytes(token.substring(colon + 1))};
  }

  private static byte[] family(String token) {
    return Text.bytes(token);
  }

  static TableDescriptor table(TableName name, Tokens words) throws IOException {
    TableDescriptorBuilder table = TableDescriptorBuilder.newBuilder(name);
    while (!words.isEmpty()) {
      String word = words.next();
      int colon = word.indexOf(':');
      String familyName = colon < 0 ? word : word.substring(0, colon);
      ColumnFamilyDescriptorBuilder family = ColumnFamilyDescriptorBuilder.newBuilder(Text.bytes(familyName));
      if (colon >= 0) {
        for (String attribute : word.substring(colon + 1).split(",")) {
          String[] parts = attribute.split("=");
          attribute(family, parts[0], parts[1]);
        }
      }
      table.setColumnFamily(family.build());
    }
    return table.build();
  }

  private static void attribute(ColumnFamilyDescriptorBuilder family, String name, String value) {
    switch (name) {
      case "VERSIONS": family.setMaxVersions(value.equals("all") ? Integer.MAX_VALUE : Integer.parseInt(value)); break;
      case "MIN_VERSIONS": family.setMinVersions(Integer.parseInt(value)); break;
      case "TTL": family.setTimeToLive(Integer.parseInt(value)); break;
      case "NEW_VERSION_BEHAVIOR": family.setNewVersionBehavior(Boolean.parseBoolean(value)); break;
      case "BLOOMFILTER": family.setBloomFilterType(BloomType.valueOf(value)); break;
      case "BLOCKSIZE": family.setBlocksize(Integer.parseInt(value)); break;
      case "KEEP_DELETED": family.setKeepDeletedCells(KeepDeletedCells.valueOf(value)); break;
      default: throw new IllegalStateException("unknown attribute " + name);
    }
  }

  static boolean isMutation(String verb) {
    switch (verb) {
      case "put": case "delete": case "deletecolumn": case "deletefamily": case "deletefamilyversion":
      case "deleterow": case "incr": case "append":
        return true;
      default:
        return false;
    }
  }

  static Mutation mutation(Tokens words) throws IOException {
    String verb = words.next();
    switch (verb) {
      case "put": return put(words);
      case "incr": return increment(words);
      case "append": return append(words);
      default: return delete(verb, words);
    }
  }

  private static Put put(Tokens words) {
    Put put = new Put(words.bytes());
    while (!words.isEmpty()) {
      String ttl = words.option("ttl");
      if (ttl != null) {
        put.setTTL(Long.parseLong(ttl));
        continue;
      }
      byte[][] column = column(words.next());
      byte[] value = words.bytes();
      if (words.atTimestamp()) {
        put.addColumn(column[0], column[1], words.timestamp(), value);
      } else {
        put.addColumn(column[0], column[1], value);
      }
    }
    return put;
  }

  private static Delete delete(String verb, Tokens words) {
    byte[] row = words.bytes();
    if (verb.equals("deleterow")) {
      return words.atTimestamp() ? new Delete(row, words.timestamp()) : new Delete(row);
    }
    Delete delete = new Delete(row);
    while (!words.isEmpty()) {
      String what = words.next();
      boolean stamped = words.atTimestamp();
      long stamp = stamped ? words.timestamp() : Long.MAX_VALUE;
      switch (verb) {
        case "delete":
          delete.addColumn(column(what)[0], column(what)[1], stamp);
          break;
        case "deletecolumn":
          delete.addColumns(column(what)[0], column(what)[1], stamp);
          break;
        case "deletefamily":
          if (stamped) {
            delete.addFamily(family(what), stamp);
          } else {
            delete.addFamily(family(what));
          }
          break;
        case "deletefamilyversion":
          delete.addFamilyVersion(family(what), stamp);
          break;
        default:
          throw new IllegalStateException("unknown command " + verb);
      }
    }
    return delete;
  }

  private static Increment increment(Tokens words) throws IOException {
    Increment increment = new Increment(words.bytes());
    while (!words.isEmpty()) {
      String range = words.option("range");
      if (range != null) {
        TimeRange bounds = timeRange(range);
        increment.setTimeRange(bounds.getMin(), bounds.getMax());
        continue;
      }
      String ttl = words.option("ttl");
      if (ttl != null) {
        increment.setTTL(Long.parseLong(ttl));
        continue;
      }
      if (words.flag("noresult")) {
        increment.setReturnResults(false);
        continue;
      }
      byte[][] column = column(words.next());
      increment.addColumn(column[0], column[1], Long.parseLong(words.next()));
    }
    return increment;
  }

  private static Append append(Tokens words) throws IOException {
    Append append = new Append(words.bytes());
    while (!words.isEmpty()) {
      String range = words.option("range");
      if (range != null) {
        TimeRange bounds = timeRange(range);
        append.setTimeRange(bounds.getMin(), bounds.getMax());
        continue;
      }
      String ttl = words.option("ttl");
      if (ttl != null) {
        append.setTTL(Long.parseLong(ttl));
        continue;
      }
      if (words.flag("noresult")) {
        append.setReturnResults(false);
        continue;
      }
      byte[][] column = column(words.next());
      append.addColumn(column[0], column[1], words.bytes());
    }
    return append;
  }

  static RowMutations rowMutations(Tokens words) throws IOException {
    RowMutations mutations = new RowMutations(words.bytes());
    for (Tokens one : words.block()) {
      mutations.add(mutation(one));
    }
    return mutations;
  }

  static CheckAndMutate check(Tokens words) throws IOException {
    CheckAndMutate.Builder check = CheckAndMutate.newBuilder(words.bytes());
    if (words.flag("filter")) {
      check.ifMatches(Filters.parse(words.next()));
    } else {
      byte[][] column = column(words.next());
      CompareOperator operator = Filters.operator(words.next());
      byte[] value = words.flag("null") ? null : words.bytes();
      check.ifMatches(column[0], column[1], operator, value);
    }
    String range = words.option("range");
    if (range != null) {
      check.timeRange(timeRange(range));
    }
    words.expect("then");
    if (words.flag("mutate")) {
      return check.build(rowMutations(words));
    }
    Mutation mutation = mutation(words);
    if (mutation instanceof Put) {
      return check.build((Put) mutation);
    } else if (mutation instanceof Delete) {
      return check.build((Delete) mutation);
    } else if (mutation instanceof Increment) {
      return check.build((Increment) mutation);
    }
    return check.build((Append) mutation);
  }

  static Get get(Tokens words) throws IOException {
    Get get = new Get(words.bytes());
    while (!words.isEmpty()) {
      String value;
      if (words.flag("exists")) {
        get.setCheckExistenceOnly(true);
      } else if ((value = words.option("versions")) != null) {
        get = value.equals("all") ? get.readAllVersions() : get.readVersions(Integer.parseInt(value));
      } else if ((value = words.option("range")) != null) {
        TimeRange range = timeRange(value);
        get.setTimeRange(range.getMin(), range.getMax());
      } else if ((value = words.option("ts")) != null) {
        get.setTimestamp(Long.parseLong(value));
      } else if ((value = words.option("familyrange")) != null) {
        familyRange(get, value);
      } else if ((value = words.option("storelimit")) != null) {
        get.setMaxResultsPerColumnFamily(Integer.parseInt(value));
      } else if ((value = words.option("storeoffset")) != null) {
        get.setRowOffsetPerColumnFamily(Integer.parseInt(value));
      } else if ((value = words.option("filter")) != null) {
        get.setFilter(Filters.parse(value));
      } else {
        String what = words.next();
        if (what.indexOf(':') < 0) {
          get.addFamily(family(what));
        } else {
          get.addColumn(column(what)[0], column(what)[1]);
        }
      }
    }
    return get;
  }

  static Scan scan(Tokens words) throws IOException {
    Scan scan = new Scan();
    byte[] start = new byte[0];
    byte[] stop = new byte[0];
    boolean startInclusive = true;
    boolean stopInclusive = false;
    while (!words.isEmpty()) {
      String value;
      if (words.flag("reverse")) {
        scan.setReversed(true);
      } else if (words.flag("raw")) {
        scan.setRaw(true);
      } else if (words.flag("startexclusive")) {
        startInclusive = false;
      } else if (words.flag("stopinclusive")) {
        stopInclusive = true;
      } else if ((value = words.option("start")) != null) {
        start = Text.bytes(value);
      } else if ((value = words.option("stop")) != null) {
        stop = Text.bytes(value);
      } else if ((value = words.option("prefix")) != null) {
        scan.setStartStopRowForPrefixScan(Text.bytes(value));
        start = scan.getStartRow();
        stop = scan.getStopRow();
      } else if ((value = words.option("versions")) != null) {
        scan = value.equals("all") ? scan.readAllVersions() : scan.readVersions(Integer.parseInt(value));
      } else if ((value = words.option("range")) != null) {
        TimeRange range = timeRange(value);
        scan.setTimeRange(range.getMin(), range.getMax());
      } else if ((value = words.option("ts")) != null) {
        scan.setTimestamp(Long.parseLong(value));
      } else if ((value = words.option("familyrange")) != null) {
        familyRange(scan, value);
      } else if ((value = words.option("batch")) != null) {
        scan.setBatch(Integer.parseInt(value));
      } else if ((value = words.option("resultbytes")) != null) {
        scan.setMaxResultSize(Long.parseLong(value));
      } else if ((value = words.option("limit")) != null) {
        scan.setLimit(Integer.parseInt(value));
      } else if ((value = words.option("storelimit")) != null) {
        scan.setMaxResultsPerColumnFamily(Integer.parseInt(value));
      } else if ((value = words.option("storeoffset")) != null) {
        scan.setRowOffsetPerColumnFamily(Integer.parseInt(value));
      } else if ((value = words.option("filter")) != null) {
        scan.setFilter(Filters.parse(value));
      } else {
        String what = words.next();
        if (what.indexOf('=') >= 0) {
          throw new IllegalStateException("unknown option " + what);
        }
        if (what.indexOf(':') < 0) {
          scan.addFamily(family(what));
        } else {
          scan.addColumn(column(what)[0], column(what)[1]);
        }
      }
    }
    return scan.withStartRow(start, startInclusive).withStopRow(stop, stopInclusive);
  }

  private static void familyRange(Query query, String text) {
    int colon = text.indexOf(':');
    long[] bounds = bounds(text.substring(colon + 1));
    query.setColumnFamilyTimeRange(family(text.substring(0, colon)), bounds[0], bounds[1]);
  }

  private static TimeRange timeRange(String text) throws IOException {
    long[] bounds = bounds(text);
    return TimeRange.between(bounds[0], bounds[1]);
  }

  /** MIN..MAX, the upper bound outside; either may be left away. */
  private static long[] bounds(String text) {
    int dots = text.indexOf("..");
    String low = text.substring(0, dots);
    String high = text.substring(dots + 2);
    return new long[] {
      low.isEmpty() ? 0 : Long.parseLong(low), high.isEmpty() ? Long.MAX_VALUE : Long.parseLong(high)
    };
  }

  static List<Mutation> batch(Tokens words) throws IOException {
    List<Mutation> out = new ArrayList<>();
    for (Tokens one : words.block()) {
      out.add(mutation(one));
    }
    return out;
  }
}
