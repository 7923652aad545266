import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.RegionSplitter;

/**
 * Prints what the split algorithms of HBase give, for splits.txt beside it: name, regions, and the keys as Bytes.toStringBinary has them.
 * javac -cp "$HBASE_HOME/lib/*" RegionSplits.java && java -cp ".:$HBASE_HOME/lib/*" RegionSplits > splits.txt
 */
public class RegionSplits {
  public static void main(String[] args) {
    for (int regions : new int[] {2, 3, 4, 5, 7, 10, 15, 16, 17, 60, 100, 255, 256}) {
      print("HexStringSplit", regions, new RegionSplitter.HexStringSplit().split(regions));
      print("DecimalStringSplit", regions, new RegionSplitter.DecimalStringSplit().split(regions));
      print("UniformSplit", regions, new RegionSplitter.UniformSplit().split(regions));
    }
  }

  private static void print(String name, int regions, byte[][] splits) {
    StringBuilder line = new StringBuilder(name).append(' ').append(regions);
    for (byte[] split : splits) {
      line.append(' ').append(Bytes.toStringBinary(split).replace(" ", "\\x20"));
    }
    System.out.println(line);
  }
}
