import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import net.jpountz.lz4.LZ4Factory;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.DoNotRetryIOException;
import org.apache.hadoop.hbase.PrivateCellUtil;
import org.apache.hadoop.hbase.codec.Codec;
import org.apache.hadoop.hbase.exceptions.RegionMovedException;
import org.apache.hadoop.hbase.quotas.RpcThrottlingException;
import org.apache.hadoop.io.compress.BlockCompressorStream;
import org.apache.hadoop.io.compress.BlockDecompressorStream;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.Compressor;
import org.apache.hadoop.io.compress.Decompressor;
import org.apache.hadoop.util.ReflectionUtils;
import org.xerial.snappy.Snappy;

/**
 * Looks at what Halite puts on the wire: says of each exception class what HBase knows of it and of each message what
 * HBase reads in it, prints the cells of each cell block, and writes them again.
 */
@SuppressWarnings("deprecation")
public final class Wire {
  public static void main(String[] arguments) throws Exception {
    Path work = Path.of(arguments[0]);
    try (PrintStream out = new PrintStream(work.resolve("exceptions.printed").toFile(), StandardCharsets.UTF_8)) {
      for (String line : Files.readAllLines(work.resolve("exceptions"))) {
        String[] parts = line.split(" ", 2);
        out.println(parts[0] + " " + told(parts[0], parts[1]));
      }
    }
    List<Path> blocks = new ArrayList<>();
    try (var files = Files.newDirectoryStream(work.resolve("blocks"), "*.block")) {
      files.forEach(blocks::add);
    }
    for (Path block : blocks) {
      rewrite(block);
    }
  }

  private static String told(String kind, String text) throws Exception {
    switch (kind) {
      case "class": {
        Class<?> named = Class.forName(text);
        return text + " " + DoNotRetryIOException.class.isAssignableFrom(named);
      }
      case "moved": {
        RegionMovedException moved = new RegionMovedException(text);
        return moved.getHostname() + " " + moved.getPort() + " " + moved.getServerName().getStartcode() + " " + moved.getLocationSeqNum();
      }
      default:
        return Long.toString(new RpcThrottlingException(text).getWaitInterval());
    }
  }

  /** A block's name is its codec, a minus, its compressor or `none`, a minus, and what is in it. */
  private static void rewrite(Path file) throws Exception {
    String whole = file.getFileName().toString().replace(".block", "");
    String[] name = whole.split("-");
    Codec codec = (Codec) Class.forName("org.apache.hadoop.hbase.codec." + name[0]).getDeclaredConstructor().newInstance();
    List<Cell> cells = new ArrayList<>();
    Codec.Decoder decoder = codec.getDecoder(new ByteArrayInputStream(unfold(Files.readAllBytes(file), name[1])));
    while (decoder.advance()) {
      cells.add(decoder.current());
    }
    ByteArrayOutputStream plain = new ByteArrayOutputStream();
    Codec.Encoder encoder = codec.getEncoder(plain);
    try (PrintStream out = new PrintStream(file.resolveSibling(whole + ".printed").toFile(), StandardCharsets.UTF_8)) {
      for (Cell cell : cells) {
        out.println(print(cell));
        encoder.write(cell);
      }
    }
    encoder.flush();
    Files.write(file.resolveSibling(whole + ".java"), fold(plain.toByteArray(), name[1]));
  }

  private static String print(Cell cell) {
    HexFormat hex = HexFormat.of();
    return hex.formatHex(CellUtil.cloneRow(cell)) + " " + hex.formatHex(CellUtil.cloneFamily(cell)) + " " + hex.formatHex(CellUtil.cloneQualifier(cell))
      + " " + cell.getTimestamp() + " " + (cell.getTypeByte() & 0xff) + " " + hex.formatHex(CellUtil.cloneValue(cell)) + " "
      + hex.formatHex(PrivateCellUtil.cloneTags(cell));
  }

  private static byte[] unfold(byte[] bytes, String compressor) throws IOException {
    InputStream in = new ByteArrayInputStream(bytes);
    return switch (compressor) {
      case "none" -> bytes;
      case "SnappyCodec", "Lz4Codec" -> new BlockDecompressorStream(in, new Chunks(compressor), BUFFER).readAllBytes();
      default -> hadoop(compressor).createInputStream(in).readAllBytes();
    };
  }

  private static byte[] fold(byte[] bytes, String compressor) throws IOException {
    if (compressor.equals("none")) {
      return bytes;
    }
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    int overhead = compressor.equals("Lz4Codec") ? BUFFER / 255 + 16 : BUFFER / 6 + 32;
    try (OutputStream out = switch (compressor) {
      case "SnappyCodec", "Lz4Codec" -> new BlockCompressorStream(packed, new Chunks(compressor), BUFFER, overhead);
      default -> hadoop(compressor).createOutputStream(packed);
    }) {
      out.write(bytes);
    }
    return packed.toByteArray();
  }

  private static CompressionCodec hadoop(String name) {
    try {
      Class<?> named = Class.forName("org.apache.hadoop.io.compress." + name);
      return (CompressionCodec) ReflectionUtils.newInstance(named, new Configuration(false));
    } catch (ClassNotFoundException gone) {
      throw new IllegalArgumentException(gone);
    }
  }

  private static final int BUFFER = 256 * 1024;

  /** What is inside Hadoop's blocks. Hadoop's own classes want a native library, its later ones do what this does. */
  private static final class Chunks implements Compressor, Decompressor {
    private final boolean snappy;
    private byte[] input = new byte[0];
    private byte[] output = new byte[0];
    private int given;
    private long read;
    private boolean finish;

    Chunks(String compressor) {
      this.snappy = compressor.equals("SnappyCodec");
    }

    @Override
    public void setInput(byte[] bytes, int offset, int length) {
      input = java.util.Arrays.copyOfRange(bytes, offset, offset + length);
      read += length;
    }

    @Override
    public int compress(byte[] bytes, int offset, int length) throws IOException {
      if (given == output.length && input.length > 0) {
        output = snappy ? Snappy.compress(input) : LZ4Factory.safeInstance().fastCompressor().compress(input);
        input = new byte[0];
        given = 0;
      }
      return give(bytes, offset, length);
    }

    @Override
    public int decompress(byte[] bytes, int offset, int length) throws IOException {
      if (given == output.length && input.length > 0) {
        output = snappy ? Snappy.uncompress(input) : LZ4Factory.safeInstance().safeDecompressor().decompress(input, BUFFER);
        input = new byte[0];
        given = 0;
      }
      return give(bytes, offset, length);
    }

    private int give(byte[] bytes, int offset, int length) {
      int count = Math.min(length, output.length - given);
      System.arraycopy(output, given, bytes, offset, count);
      given += count;
      return count;
    }

    @Override
    public boolean needsInput() {
      return input.length == 0 && given == output.length;
    }

    @Override
    public boolean finished() {
      return input.length == 0 && given == output.length && (finish || output.length > 0);
    }

    @Override
    public void finish() {
      finish = true;
    }

    @Override
    public void reset() {
      input = new byte[0];
      output = new byte[0];
      given = 0;
      read = 0;
      finish = false;
    }

    @Override
    public long getBytesRead() {
      return read;
    }

    @Override
    public long getBytesWritten() {
      return given;
    }

    @Override
    public int getRemaining() {
      return 0;
    }

    @Override
    public boolean needsDictionary() {
      return false;
    }

    @Override
    public void setDictionary(byte[] bytes, int offset, int length) {}

    @Override
    public void reinit(Configuration configuration) {}

    @Override
    public void end() {}
  }
}
