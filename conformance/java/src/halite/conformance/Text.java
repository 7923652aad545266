package halite.conformance;

import java.io.ByteArrayOutputStream;

/** The spelling of bytes in case files: printable ASCII as it is, \xNN for the rest, "" for no bytes, \{N:c} for N times c. */
final class Text {
  private Text() {}

  static byte[] bytes(String token) {
    if (token.equals("\"\"")) {
      return new byte[0];
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    int at = 0;
    while (at < token.length()) {
      char c = token.charAt(at);
      if (c != '\\') {
        out.write(c);
        at++;
      } else if (token.startsWith("\\x", at)) {
        out.write(Integer.parseInt(token.substring(at + 2, at + 4), 16));
        at += 4;
      } else if (token.startsWith("\\{", at)) {
        int colon = token.indexOf(':', at);
        int end = token.indexOf('}', colon);
        int times = Integer.parseInt(token.substring(at + 2, colon));
        byte[] unit = bytes(token.substring(colon + 1, end));
        for (int i = 0; i < times; i++) {
          out.write(unit, 0, unit.length);
        }
        at = end + 1;
      } else {
        throw new IllegalStateException("bad escape in " + token);
      }
    }
    return out.toByteArray();
  }

  static String token(byte[] bytes) {
    if (bytes.length == 0) {
      return "\"\"";
    }
    StringBuilder out = new StringBuilder();
    for (byte b : bytes) {
      int c = b & 0xff;
      if (c > 0x20 && c < 0x7f && c != '\\' && c != '"') {
        out.append((char) c);
      } else {
        out.append(String.format("\\x%02x", c));
      }
    }
    return out.toString();
  }

  /** The part of a column after the colon; unlike elsewhere no bytes are written as nothing at all. */
  static String qualifier(byte[] bytes) {
    return bytes.length == 0 ? "" : token(bytes);
  }
}
