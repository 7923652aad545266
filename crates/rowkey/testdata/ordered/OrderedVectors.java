import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.StringJoiner;
import org.apache.hadoop.hbase.types.DataType;
import org.apache.hadoop.hbase.types.OrderedBlob;
import org.apache.hadoop.hbase.types.OrderedBlobVar;
import org.apache.hadoop.hbase.types.OrderedFloat32;
import org.apache.hadoop.hbase.types.OrderedFloat64;
import org.apache.hadoop.hbase.types.OrderedInt16;
import org.apache.hadoop.hbase.types.OrderedInt32;
import org.apache.hadoop.hbase.types.OrderedInt64;
import org.apache.hadoop.hbase.types.OrderedInt8;
import org.apache.hadoop.hbase.types.OrderedNumeric;
import org.apache.hadoop.hbase.types.OrderedString;
import org.apache.hadoop.hbase.types.StructBuilder;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.Order;
import org.apache.hadoop.hbase.util.PositionedByteRange;
import org.apache.hadoop.hbase.util.SimplePositionedMutableByteRange;

/**
 * Writes keys that HBase's Struct and OrderedBytes make of random values, for ordered.txt beside it:
 * javac -cp "$HBASE_HOME/lib/*" OrderedVectors.java && java -cp ".:$HBASE_HOME/lib/*" OrderedVectors > ordered.txt
 */
public class OrderedVectors {
  private static final String[] TYPES = { "i8", "i16", "i32", "i64", "f32", "f64", "num", "str", "bytes" };
  private static final String[] PARTS = { "", "a", "b", "\u0001", "\u007f", "\u00ff", "\u5f20\u4e09", "user_001" };
  private static final Random RANDOM = new Random(42);

  public static void main(String[] arguments) {
    System.out.println("# Keys of HBase 2.6.4's Struct over OrderedBytes, written by OrderedVectors.java: fields, values, key.");
    System.out.println("# A field is TYPE[-desc][-null]; text and bytes are x and hexadecimal digits, floats b and their bits,");
    System.out.println("# num is COEFFICIENTeEXPONENT. bytes are OrderedBlob in the last, ascending place and OrderedBlobVar elsewhere.");
    for (int written = 0; written < 1200;) {
      int count = 1 + RANDOM.nextInt(4);
      String[] types = new String[count];
      boolean[] descending = new boolean[count];
      boolean[] nullable = new boolean[count];
      for (int at = 0; at < count; at++) {
        types[at] = TYPES[RANDOM.nextInt(TYPES.length)];
        descending[at] = RANDOM.nextBoolean();
        nullable[at] = isNullable(types[at]) && RANDOM.nextBoolean();
      }
      for (int row = 0; row < 3; row++) {
        written += write(types, descending, nullable) ? 1 : 0;
      }
    }
  }

  private static boolean isNullable(String type) {
    return type.equals("num") || type.equals("str") || type.equals("bytes");
  }

  private static boolean write(String[] types, boolean[] descending, boolean[] nullable) {
    StructBuilder struct = new StructBuilder();
    StringJoiner fields = new StringJoiner(" ");
    StringJoiner texts = new StringJoiner(" ");
    List<Object> values = new ArrayList<>();
    for (int at = 0; at < types.length; at++) {
      boolean last = at + 1 == types.length;
      struct.add(type(types[at], descending[at] ? Order.DESCENDING : Order.ASCENDING, last));
      Object value = nullable[at] && RANDOM.nextInt(3) == 0 ? null : value(types[at]);
      values.add(value);
      fields.add(types[at] + (descending[at] ? "-desc" : "") + (nullable[at] ? "-null" : ""));
      texts.add(text(value));
    }
    PositionedByteRange range = new SimplePositionedMutableByteRange(1000);
    int length = struct.toStruct().encode(range, values.toArray());
    if (length > 0) {
      System.out.println(fields + " | " + texts + " | " + Bytes.toHex(range.getBytes(), 0, length));
    }
    return length > 0;
  }

  private static DataType<?> type(String name, Order order, boolean last) {
    boolean descending = order == Order.DESCENDING;
    switch (name) {
      case "i8": return descending ? OrderedInt8.DESCENDING : OrderedInt8.ASCENDING;
      case "i16": return descending ? OrderedInt16.DESCENDING : OrderedInt16.ASCENDING;
      case "i32": return descending ? OrderedInt32.DESCENDING : OrderedInt32.ASCENDING;
      case "i64": return descending ? OrderedInt64.DESCENDING : OrderedInt64.ASCENDING;
      case "f32": return descending ? OrderedFloat32.DESCENDING : OrderedFloat32.ASCENDING;
      case "f64": return descending ? OrderedFloat64.DESCENDING : OrderedFloat64.ASCENDING;
      case "num": return descending ? OrderedNumeric.DESCENDING : OrderedNumeric.ASCENDING;
      case "str": return descending ? OrderedString.DESCENDING : OrderedString.ASCENDING;
      default:
        if (last && !descending) {
          return OrderedBlob.ASCENDING;
        }
        return descending ? OrderedBlobVar.DESCENDING : OrderedBlobVar.ASCENDING;
    }
  }

  private static Object value(String type) {
    switch (type) {
      case "i8": return (byte) integer();
      case "i16": return (short) integer();
      case "i32": return (int) integer();
      case "i64": return integer();
      case "f32": {
        float[] edges = { 0f, -0f, 1.5f, -1.5f, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, Float.MIN_VALUE };
        return edges[RANDOM.nextInt(edges.length)];
      }
      case "f64": {
        double[] edges = { 0, -0.0, Double.NaN, Double.POSITIVE_INFINITY, -Double.MAX_VALUE, RANDOM.nextGaussian() };
        return edges[RANDOM.nextInt(edges.length)];
      }
      case "num": return decimal();
      case "str": {
        StringBuilder text = new StringBuilder();
        for (int part = RANDOM.nextInt(4); part > 0; part--) {
          text.append(PARTS[RANDOM.nextInt(PARTS.length)]);
        }
        return text.toString();
      }
      default: {
        byte[] bytes = new byte[RANDOM.nextInt(17)];
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
    int[] scales = { 0, 0, 1, 2, 3, -1, -2, 20, -20, 23, -23, 500, -500, 5001, -5000, 140000, -140001, 1000000000 };
    BigDecimal number = new BigDecimal(digits, scales[RANDOM.nextInt(scales.length)]);
    return RANDOM.nextBoolean() ? number.negate() : number;
  }

  private static String text(Object value) {
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
    }
    return value.toString();
  }
}
