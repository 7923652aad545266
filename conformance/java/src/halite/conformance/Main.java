package halite.conformance;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Runs case files on HBase: --record writes its answers into the files, --check compares them with what is there. */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) throws IOException {
    List<String> names = new ArrayList<>(List.of(arguments));
    boolean record = names.remove("--record");
    boolean check = names.remove("--check");
    if (record == check || names.isEmpty()) {
      System.err.println("usage: Main --record|--check FILE_OR_FOLDER...");
      System.exit(2);
    }
    Path directory = Files.createTempDirectory("halite-conformance");
    int differing = 0;
    int cases = 0;
    try (Oracle oracle = new Oracle(directory)) {
      for (Path path : caseFiles(names)) {
        CaseFile file = CaseFile.read(path);
        String answered = file.run(oracle);
        cases += answered.lines().filter(line -> line.startsWith("case ")).count();
        if (answered.equals(file.recorded())) {
          continue;
        }
        differing++;
        if (record) {
          Files.writeString(path, answered, StandardCharsets.US_ASCII);
        } else {
          printDifference(path, file.recorded(), answered);
        }
      }
    } finally {
      delete(directory);
    }
    System.out.println(cases + " cases, " + differing + (record ? " files rewritten" : " files differ"));
    System.exit(check && differing > 0 ? 1 : 0);
  }

  private static List<Path> caseFiles(List<String> names) throws IOException {
    List<Path> out = new ArrayList<>();
    for (String name : names) {
      Path path = Path.of(name);
      if (!Files.isDirectory(path)) {
        out.add(path);
        continue;
      }
      try (Stream<Path> inside = Files.list(path)) {
        out.addAll(inside.filter(p -> p.toString().endsWith(".txt")).sorted().collect(Collectors.toList()));
      }
    }
    return out;
  }

  /** The answers that changed, each under its case and command; both texts hold the same commands in the same order. */
  private static void printDifference(Path path, String recorded, String answered) {
    List<List<String>> before = blocks(recorded);
    List<List<String>> after = blocks(answered);
    String inCase = "";
    for (int i = 0; i < after.size(); i++) {
      String command = after.get(i).get(0);
      if (command.startsWith("case ")) {
        inCase = command;
      }
      if (!before.get(i).equals(after.get(i))) {
        System.out.println(path + ": " + inCase + "\n  " + command);
        before.get(i).stream().skip(1).forEach(line -> System.out.println("  - " + line.trim()));
        after.get(i).stream().skip(1).forEach(line -> System.out.println("  + " + line.trim()));
      }
    }
  }

  private static List<List<String>> blocks(String text) {
    List<List<String>> out = new ArrayList<>();
    for (String line : text.split("\n")) {
      if (!line.startsWith(" ")) {
        out.add(new ArrayList<>());
      }
      out.get(out.size() - 1).add(line);
    }
    return out;
  }

  private static void delete(Path directory) throws IOException {
    try (Stream<Path> inside = Files.walk(directory)) {
      for (Path path : inside.sorted(Comparator.reverseOrder()).collect(Collectors.toList())) {
        Files.delete(path);
      }
    }
  }
}
