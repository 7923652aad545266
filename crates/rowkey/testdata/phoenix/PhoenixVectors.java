import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.Timestamp;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.StringJoiner;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.Pair;
import org.apache.phoenix.util.PhoenixRuntime;

/**
 * Writes the keys that Phoenix's JDBC driver makes of UPSERTs into random tables, without a cluster, for phoenix.txt beside it.
 * The class path holds phoenix-core-client 5.2.1, phoenix-hbase-compat-2.6.0 and what they need:
 * java -cp "." PhoenixVectors > phoenix.txt
 */
public class PhoenixVectors {
  private static final String[] TYPES = { "i8 TINYINT", "i16 SMALLINT", "i32 INTEGER", "i64 BIGINT", "u8 UNSIGNED_TINYINT",
    "u16 UNSIGNED_SMALLINT", "u32 UNSIGNED_INT", "u64 UNSIGNED_LONG", "f32 FLOAT", "f64 DOUBLE", "num DECIMAL", "num DECIMAL",
    "str VARCHAR", "str VARCHAR", "str VARCHAR", "bytes VARBINARY", "char4 CHAR(4)", "fixed4 BINARY(4)", "bool BOOLEAN", "ms DATE",
    "ns TIMESTAMP" };
  private static final String[] PARTS = { "a", "b", "\u0001", "\u007f", "\u00ff", "\u5f20\u4e09", "user_001" };
  private static final Random RANDOM = new Random(42);

  public static void main(String[] arguments) throws Exception {
    System.out.println("# Keys of Apache Phoenix 5.2.1, written by PhoenixVectors.java: fields, values, key.");
    System.out.println("# A field is TYPE[-desc][-null]; text and bytes are x and hexadecimal digits, floats b and their bits,");
    System.out.println("# num is COEFFICIENTeEXPONENT, ms and ns count since 1970. saltN in front is SALT_BUCKETS = N.");
    try (Connection connection = DriverManager.getConnection("jdbc:phoenix:none")) {
      connection.setAutoCommit(false);
      for (int table = 0; table < 400; table++) {
        table(connection, "T" + table);
      }
    }
  }

  private static void table(Connection connection, String name) throws Exception {
    int count = 1 + RANDOM.nextInt(4);
    String[] types = new String[count];
    boolean[] nullable = new boolean[count];
    StringJoiner columns = new StringJoiner(", ");
    StringJoiner keys = new StringJoiner(", ");
    StringJoiner fields = new StringJoiner(" ");
    int salts = RANDOM.nextInt(3) == 0 ? 2 + RANDOM.nextInt(255) : 0;
    if (salts > 0) {
      fields.add("salt" + salts);
    }
    for (int at = 0; at < count; at++) {
      String[] type;
      do {
        type = TYPES[RANDOM.nextInt(TYPES.length)].split(" ");
      } while (type[0].equals("bytes") && at + 1 < count);
      types[at] = type[0];
      boolean descending = !type[0].equals("bytes") && RANDOM.nextBoolean();
      nullable[at] = (type[0].equals("num") || type[0].equals("str") || type[0].equals("bytes")) && RANDOM.nextBoolean();
      columns.add("F" + at + " " + type[1] + (nullable[at] ? "" : " NOT NULL"));
      keys.add("F" + at + (descending ? " DESC" : ""));
      fields.add(type[0] + (descending ? "-desc" : "") + (nullable[at] ? "-null" : ""));
    }
    String options = salts > 0 ? " SALT_BUCKETS=" + salts : "";
    connection.createStatement().execute(
      "CREATE TABLE " + name + " (" + columns + ", V BIGINT CONSTRAINT PK PRIMARY KEY (" + keys + "))" + options);
    for (int row = 0; row < 3; row++) {
      upsert(connection, name, types, nullable, fields.toString());
    }
  }

  private static void upsert(Connection connection, String name, String[] types, boolean[] nullable, String fields) throws Exception {
    StringJoiner places = new StringJoiner(", ", "(", ")");
    StringJoiner texts = new StringJoiner(" ");
    Object[] values = new Object[types.length];
    boolean empty = true;
    for (int at = 0; at < types.length; at++) {
      values[at] = nullable[at] && RANDOM.nextInt(3) == 0 ? null : value(types[at]);
      empty &= values[at] == null;
      texts.add(text(types[at], values[at]));
      places.add("?");
    }
    if (empty) {
      return;
    }
    places.add("1");
    try (PreparedStatement statement = connection.prepareStatement("UPSERT INTO " + name + " VALUES " + places)) {
      for (int at = 0; at < values.length; at++) {
        statement.setObject(at + 1, values[at]);
      }
      statement.executeUpdate();
    }
    Iterator<Pair<byte[], List<Cell>>> waiting = PhoenixRuntime.getUncommittedDataIterator(connection);
    byte[] key = CellUtil.cloneRow(waiting.next().getSecond().get(0));
    connection.rollback();
    System.out.println(fields + " | " + texts + " | " + Bytes.toHex(key));
  }

  private static Object value(String type) {
    switch (type) {
      case "i8": return (byte) integer();
      case "i16": return (short) integer();
      case "i32": return (int) integer();
      case "i64": return integer();
      case "u8": return (byte) (integer() & Byte.MAX_VALUE);
      case "u16": return (short) (integer() & Short.MAX_VALUE);
      case "u32": return (int) (integer() & Integer.MAX_VALUE);
      case "u64": return integer() & Long.MAX_VALUE;
      case "ms": return new Date(integer() % 10000000000000L);
      case "ns": {
        long nanos = integer() / 2;
        Timestamp time = new Timestamp(Math.floorDiv(nanos, 1000000));
        time.setNanos((int) Math.floorMod(nanos, 1000000000L));
        return time;
      }
      case "bool": return RANDOM.nextBoolean();
      case "f32": {
        float[] edges = { 0f, 1.5f, -1.5f, Float.MAX_VALUE, -Float.MAX_VALUE, Float.MIN_VALUE, (float) RANDOM.nextGaussian() };
        return edges[RANDOM.nextInt(edges.length)];
      }
      case "f64": {
        double[] edges = { 0, 1.5, -1.5, Double.MAX_VALUE, -Double.MAX_VALUE, Double.MIN_VALUE, RANDOM.nextGaussian() };
        return edges[RANDOM.nextInt(edges.length)];
      }
      case "num": return decimal();
      case "str": {
        StringBuilder text = new StringBuilder();
        for (int part = 1 + RANDOM.nextInt(4); part > 0; part--) {
          text.append(PARTS[RANDOM.nextInt(PARTS.length)]);
        }
        return text.toString();
      }
      case "char4": return new String[] { "abcd", "zzzz", "A0_~", "user" }[RANDOM.nextInt(4)];
      default: {
        byte[] bytes = new byte[type.equals("fixed4") ? 4 : 1 + RANDOM.nextInt(16)];
        RANDOM.nextBytes(bytes);
        for (int at = 0; at < bytes.length; at++) {
          bytes[at] = RANDOM.nextInt(3) == 0 ? (byte) (RANDOM.nextBoolean() ? 0 : 0xff) : bytes[at];
        }
        return bytes;
      }
    }
  }

  private static long integer() {
    long[] edges = { 0, 1, -1, Long.MAX_VALUE, Long.MIN_VALUE, 1710460800000L, RANDOM.nextLong(), RANDOM.nextInt(300) - 150 };
    return edges[RANDOM.nextInt(edges.length)];
  }

  private static BigDecimal decimal() {
    BigInteger digits = new BigInteger(1 + RANDOM.nextInt(RANDOM.nextBoolean() ? 100 : 12), RANDOM);
    int[] scales = { 0, 0, 1, 2, 3, -1, -2, 20, -20, 23, -23, 90, -80 };
    BigDecimal number = new BigDecimal(digits, scales[RANDOM.nextInt(scales.length)]);
    return RANDOM.nextBoolean() ? number.negate() : number;
  }

  private static String text(String type, Object value) {
    if (value == null) {
      return "null";
    } else if (value instanceof Float) {
      return "b" + String.format("%08x", Float.floatToRawIntBits((Float) value));
    } else if (value instanceof Double) {
      return "b" + String.format("%016x", Double.doubleToRawLongBits((Double) value));
    } else if (value instanceof BigDecimal) {
      return ((BigDecimal) value).unscaledValue() + "e" + -((BigDecimal) value).scale();
    } else if (value instanceof String) {
      return "x" + Bytes.toHex(((String) value).getBytes(StandardCharsets.UTF_8));
    } else if (value instanceof byte[]) {
      return "x" + Bytes.toHex((byte[]) value);
    } else if (value instanceof Timestamp) {
      Timestamp time = (Timestamp) value;
      return String.valueOf(Math.floorDiv(time.getTime(), 1000L) * 1000000000L + time.getNanos());
    } else if (value instanceof Date) {
      return String.valueOf(((Date) value).getTime());
    }
    return value.toString();
  }
}
