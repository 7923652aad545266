package halite.conformance;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The words of a command, read from the left. */
final class Tokens {
  private final List<String> words;
  private int at;

  Tokens(String line) {
    this(Arrays.asList(line.trim().split("\\s+")));
  }

  private Tokens(List<String> words) {
    this.words = words;
  }

  boolean isEmpty() {
    return at >= words.size();
  }

  String peek() {
    return isEmpty() ? "" : words.get(at);
  }

  String next() {
    if (isEmpty()) {
      throw new IllegalStateException("a word is missing at the end");
    }
    return words.get(at++);
  }

  byte[] bytes() {
    return Text.bytes(next());
  }

  void expect(String word) {
    String found = next();
    if (!found.equals(word)) {
      throw new IllegalStateException("expected " + word + ", found " + found);
    }
  }

  /** The value of NAME=VALUE if that is the next word, else null. */
  String option(String name) {
    if (peek().startsWith(name + "=")) {
      return next().substring(name.length() + 1);
    }
    return null;
  }

  /** Whether the next word is a bare option of that name; takes it. */
  boolean flag(String name) {
    if (peek().equals(name)) {
      at++;
      return true;
    }
    return false;
  }

  boolean atTimestamp() {
    return peek().startsWith("@");
  }

  long timestamp() {
    return Long.parseLong(next().substring(1));
  }

  /** The commands between braces, separated by a semicolon standing alone. */
  List<Tokens> block() {
    expect("{");
    List<Tokens> out = new ArrayList<>();
    List<String> one = new ArrayList<>();
    while (true) {
      String word = next();
      if (word.equals(";") || word.equals("}")) {
        if (!one.isEmpty()) {
          out.add(new Tokens(one));
        }
        one = new ArrayList<>();
        if (word.equals("}")) {
          return out;
        }
      } else {
        one.add(word);
      }
    }
  }
}
