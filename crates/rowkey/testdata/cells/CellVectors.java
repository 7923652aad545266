import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.sql.Date;
import java.sql.Timestamp;
import java.util.Random;
import org.apache.hadoop.hbase.types.DataType;
import org.apache.hadoop.hbase.types.OrderedBlob;
import org.apache.hadoop.hbase.types.OrderedFloat32;
import org.apache.hadoop.hbase.types.OrderedFloat64;
import org.apache.hadoop.hbase.types.OrderedInt16;
import org.apache.hadoop.hbase.types.OrderedInt32;
import org.apache.hadoop.hbase.types.OrderedInt64;
import org.apache.hadoop.hbase.types.OrderedInt8;
import org.apache.hadoop.hbase.types.OrderedNumeric;
import org.apache.hadoop.hbase.types.OrderedString;
import org.apache.hadoop.hbase.types.RawByte;
import org.apache.hadoop.hbase.types.RawBytes;
import org.apache.hadoop.hbase.types.RawDouble;
import org.apache.hadoop.hbase.types.RawFloat;
import org.apache.hadoop.hbase.types.RawInteger;
import org.apache.hadoop.hbase.types.RawLong;
import org.apache.hadoop.hbase.types.RawShort;
import org.apache.hadoop.hbase.types.RawString;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.SimplePositionedMutableByteRange;
import org.apache.phoenix.schema.types.PBinary;
import org.apache.phoenix.schema.types.PBoolean;
import org.apache.phoenix.schema.types.PChar;
import org.apache.phoenix.schema.types.PDataType;
import org.apache.phoenix.schema.types.PDate;
import org.apache.phoenix.schema.types.PDecimal;
import org.apache.phoenix.schema.types.PDouble;
import org.apache.phoenix.schema.types.PFloat;
import org.apache.phoenix.schema.types.PInteger;
import org.apache.phoenix.schema.types.PLong;
import org.apache.phoenix.schema.types.PSmallint;
import org.apache.phoenix.schema.types.PTimestamp;
import org.apache.phoenix.schema.types.PTinyint;
import org.apache.phoenix.schema.types.PUnsignedInt;
import org.apache.phoenix.schema.types.PUnsignedLong;
import org.apache.phoenix.schema.types.PUnsignedSmallint;
import org.apache.phoenix.schema.types.PUnsignedTinyint;
import org.apache.phoenix.schema.types.PVarbinary;
import org.apache.phoenix.schema.types.PVarchar;

/**
 * Writes what HBase's and Phoenix's own classes make of values, for cells.txt beside it. LIB holds hbase-common 2.6.4 in
 * front of what maven fetches with org.apache.phoenix:phoenix-core-client:5.2.1 (mvn dependency:copy-dependencies):
 * javac -cp "$LIB" CellVectors.java && java -cp ".:$LIB" CellVectors > cells.txt
 */
public class CellVectors {
  private static final Random RANDOM = new Random(7);
  private static final String[] TEXTS =
      { "", "a", "\0", "a\0b", "it's \"quoted\"", "\u00ff", "\u5f20\u4e09", "\ud83e\udd80", "\u007f\n", "NULL" };
  private static final String[] DECIMALS = { "0", "0.00", "1", "-1", "1.50", "-1.5", "100", "1E+3", "0.001", "-0.001",
      "127", "128", "-128", "-129", "3.14", "9999999999999999999999999999999", "-9999999999999999999999999999999",
      "0.0000000000000000000000000000001", "12345678901234567890.123" };

  public static void main(String[] arguments) {
    System.out.println("# Cells written by CellVectors.java with hbase-common 2.6.4 and phoenix-core-client 5.2.1: encoding, type, value, bytes.");
    System.out.println("# Text and bytes are x and hexadecimal digits, floats b and their bits, decimals COEFFICIENTeEXPONENT.");
    booleans();
    for (int at = 0; at < 40; at++) {
      integers(at);
      floats(at);
    }
    for (String text : TEXTS) {
      texts(text);
    }
    for (String decimal : DECIMALS) {
      decimals(new BigDecimal(decimal));
    }
    for (int at = 0; at < 60; at++) {
      decimals(new BigDecimal(new BigInteger(1 + RANDOM.nextInt(100), RANDOM), RANDOM.nextInt(12)).multiply(
          new BigDecimal(RANDOM.nextBoolean() ? 1 : -1)));
    }
  }

  private static void booleans() {
    for (boolean value : new boolean[] { false, true }) {
      print("JAVA", "BOOL", "" + value, Bytes.toBytes(value));
      phoenix(PBoolean.INSTANCE, "BOOL", "" + value, value);
    }
  }

  /** Least, greatest, those around 0, and random ones. */
  private static long number(int at, int bits) {
    long least = -1L << (bits - 1);
    switch (at) {
      case 0: return least;
      case 1: return -(least + 1);
      case 2: return 0;
      case 3: return 1;
      case 4: return -1;
      case 5: return least + 1;
      default: return RANDOM.nextLong() >> (64 - bits) >> RANDOM.nextInt(bits);
    }
  }

  private static void integers(int at) {
    byte b = (byte) number(at, 8);
    short s = (short) number(at, 16);
    int i = (int) number(at, 32);
    long l = number(at, 64);
    raw(new RawByte(), "I8", "" + b, b, "RAW");
    raw(new RawShort(), "I16", "" + s, s, "RAW");
    raw(new RawInteger(), "I32", "" + i, i, "RAW");
    raw(new RawLong(), "I64", "" + l, l, "RAW");
    print("JAVA", "I8", "" + b, new byte[] { b });
    print("JAVA", "U8", "" + (b & 0xff), new byte[] { b });
    print("JAVA", "I16", "" + s, Bytes.toBytes(s));
    print("JAVA", "U16", "" + (s & 0xffff), Bytes.toBytes(s));
    print("JAVA", "I32", "" + i, Bytes.toBytes(i));
    print("JAVA", "U32", "" + (i & 0xffffffffL), Bytes.toBytes(i));
    print("JAVA", "DATE", "" + i, Bytes.toBytes(i));
    print("JAVA", "I64", "" + l, Bytes.toBytes(l));
    print("JAVA", "U64", Long.toUnsignedString(l), Bytes.toBytes(l));
    print("JAVA", "TIMESTAMP", "" + l, Bytes.toBytes(l));
    raw(OrderedInt8.ASCENDING, "I8", "" + b, b, "ORDERED");
    raw(OrderedInt16.ASCENDING, "I16", "" + s, s, "ORDERED");
    raw(OrderedInt32.ASCENDING, "I32", "" + i, i, "ORDERED");
    raw(OrderedInt64.ASCENDING, "I64", "" + l, l, "ORDERED");
    phoenix(PTinyint.INSTANCE, "I8", "" + b, b);
    phoenix(PSmallint.INSTANCE, "I16", "" + s, s);
    phoenix(PInteger.INSTANCE, "I32", "" + i, i);
    phoenix(PLong.INSTANCE, "I64", "" + l, l);
    phoenix(PDate.INSTANCE, "TIMESTAMP", "" + l, new Date(l));
    if (b >= 0 && s >= 0 && i >= 0 && l >= 0) {
      phoenix(PUnsignedTinyint.INSTANCE, "U8", "" + b, b);
      phoenix(PUnsignedSmallint.INSTANCE, "U16", "" + s, s);
      phoenix(PUnsignedInt.INSTANCE, "U32", "" + i, i);
      phoenix(PUnsignedLong.INSTANCE, "U64", "" + l, l);
    }
    long seconds = i;
    int nanos = Math.abs(s) * 30517;
    Timestamp time = new Timestamp(seconds * 1000);
    time.setNanos(nanos);
    phoenix(PTimestamp.INSTANCE, "TIMESTAMP(ns)", "" + (seconds * 1_000_000_000L + nanos), time);
  }

  private static double real(int at) {
    double[] some = { 0.0, -0.0, 1.5, -1.5, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.MAX_VALUE,
        -Double.MAX_VALUE, Double.MIN_VALUE, -Double.MIN_VALUE };
    return at < some.length ? some[at] : RANDOM.nextGaussian() * Math.pow(10, RANDOM.nextInt(30) - 15);
  }

  private static void floats(int at) {
    double d = real(at);
    float f = at == 7 ? Float.MAX_VALUE : at == 8 ? -Float.MAX_VALUE : at == 9 ? Float.MIN_VALUE : (float) d;
    String ofF = "b" + String.format("%08x", Float.floatToRawIntBits(f));
    String ofD = "b" + String.format("%016x", Double.doubleToRawLongBits(d));
    print("JAVA", "F32", ofF, Bytes.toBytes(f));
    print("JAVA", "F64", ofD, Bytes.toBytes(d));
    raw(new RawFloat(), "F32", ofF, f, "RAW");
    raw(new RawDouble(), "F64", ofD, d, "RAW");
    raw(OrderedFloat32.ASCENDING, "F32", ofF, f, "ORDERED");
    raw(OrderedFloat64.ASCENDING, "F64", ofD, d, "ORDERED");
    phoenix(PFloat.INSTANCE, "F32", ofF, f);
    phoenix(PDouble.INSTANCE, "F64", ofD, d);
  }

  private static void texts(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    String shown = "x" + hex(bytes);
    print("JAVA", "STRING", shown, Bytes.toBytes(text));
    raw(RawString.ASCENDING, "STRING", shown, text, "RAW");
    raw(RawBytes.ASCENDING, "BYTES", shown, bytes, "RAW");
    raw(OrderedBlob.ASCENDING, "BYTES", shown, bytes, "ORDERED");
    if (text.indexOf('\0') < 0) {
      raw(OrderedString.ASCENDING, "STRING", shown, text, "ORDERED");
    }
    if (!text.isEmpty()) {
      phoenix(PVarchar.INSTANCE, "STRING", shown, text);
      phoenix(PVarbinary.INSTANCE, "BYTES", shown, bytes);
      phoenix(PBinary.INSTANCE, "BYTES(" + bytes.length + ")", shown, bytes);
      if (bytes.length == text.length()) {
        phoenix(PChar.INSTANCE, "CHAR(" + bytes.length + ")", shown, text);
      }
    }
  }

  private static void decimals(BigDecimal number) {
    String shown = number.unscaledValue() + "e" + -number.scale();
    boolean plain = number.scale() >= 0;
    if (plain) {
      print("JAVA", "DECIMAL(31," + number.scale() + ")", shown, Bytes.toBytes(number));
    }
    BigDecimal least = number.signum() == 0 ? BigDecimal.ZERO : number.stripTrailingZeros();
    print("JAVA", "DECIMAL", shown, Bytes.toBytes(least.scale() < 0 ? least.setScale(0) : least));
    raw(OrderedNumeric.ASCENDING, "DECIMAL", shown, number, "ORDERED");
    phoenix(PDecimal.INSTANCE, "DECIMAL", shown, number);
  }

  private static <T> void raw(DataType<T> type, String name, String shown, T value, String encoding) {
    SimplePositionedMutableByteRange range = new SimplePositionedMutableByteRange(type.encodedLength(value) + 64);
    int length = type.encode(range, value);
    byte[] bytes = new byte[length];
    System.arraycopy(range.getBytes(), range.getOffset(), bytes, 0, length);
    print(encoding, name, shown, bytes);
  }

  private static void phoenix(PDataType<?> type, String name, String shown, Object value) {
    print("PHOENIX", name, shown, type.toBytes(value));
  }

  private static void print(String encoding, String type, String shown, byte[] bytes) {
    System.out.println(encoding + " " + type + " " + shown + " x" + hex(bytes));
  }

  private static String hex(byte[] bytes) {
    StringBuilder out = new StringBuilder();
    for (byte one : bytes) {
      out.append(String.format("%02x", one));
    }
    return out.toString();
  }
}
