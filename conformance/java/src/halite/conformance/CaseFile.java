package halite.conformance;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A case file as lines: commands at the margin, answers indented beneath the command they belong to. */
final class CaseFile {
  private static final String INDENT = "    ";

  final Path path;
  private final List<String> lines;

  private CaseFile(Path path, List<String> lines) {
    this.path = path;
    this.lines = lines;
  }

  static CaseFile read(Path path) throws IOException {
    return new CaseFile(path, Files.readAllLines(path, StandardCharsets.US_ASCII));
  }

  String recorded() {
    return String.join("\n", lines) + "\n";
  }

  /** Runs every case and returns the text of the file with the answers that came back. */
  String run(Oracle oracle) throws IOException {
    List<String> out = new ArrayList<>();
    for (String line : lines) {
      if (line.startsWith(" ")) {
        continue;
      }
      out.add(line);
      if (line.isBlank() || line.startsWith("#")) {
        continue;
      }
      try {
        for (String answer : oracle.run(line)) {
          out.add(INDENT + answer);
        }
      } catch (IllegalStateException bad) {
        throw new IOException(path + ": " + line + ": " + bad.getMessage(), bad);
      }
    }
    return String.join("\n", out) + "\n";
  }
}
