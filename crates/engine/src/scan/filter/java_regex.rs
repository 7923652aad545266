//! Translation of Java's regular expressions to the syntax of the `regex` crate, as far as both
//! have the same meaning.
//!
//! The crate matches in time linear to the text, which a server needs that accepts expressions from
//! any client. Features that it lacks for that reason (back-references, lookaround, possessive
//! quantifiers, atomic groups) are rejected with an error that names them; `(?<!TEXT)$` at the end
//! is passed on as a condition. Constructs with another meaning in Java are rewritten: `\d`, `\w`
//! and `\s` are ASCII, `.` and `$` recognize Java's line ends, `\Q..\E` quotes. Case-insensitive
//! matching covers all letters here, but only those of ASCII in Java without `UNICODE_CASE`. If `.`
//! has matched the first half of a final `\r\n`, `$` matches before the second here and not in
//! Java.

const UNIX_LINES: u32 = 1;
const CASE_INSENSITIVE: u32 = 2;
const COMMENTS: u32 = 4;
const MULTILINE: u32 = 8;
const LITERAL: u32 = 16;
const DOTALL: u32 = 32;
const UNICODE_CASE: u32 = 64;
const UNICODE_CHARACTER_CLASS: u32 = 256;
const SUPPORTED_FLAGS: u32 = UNIX_LINES
    | CASE_INSENSITIVE
    | COMMENTS
    | MULTILINE
    | LITERAL
    | DOTALL
    | UNICODE_CASE
    | UNICODE_CHARACTER_CLASS;

const LINE_END: &str = r"(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])";
/// Maximum nesting of classes; each level uses stack here and in the underlying parser.
const MAX_CLASS_DEPTH: usize = 50;
/// Maximum bytes of an expression as given and as rewritten, where a `$` has fifty. The underlying
/// parser uses a hundred times as much before the size of its result is known.
const MAX_PATTERN_BYTES: usize = 64 << 10;
const MAX_REWRITTEN_BYTES: usize = 256 << 10;
/// Maximum number of classes such as `\pL` in all expressions of one filter. Each is a few letters
/// here, and thousands of bytes and half a millisecond for the underlying parser. If case is
/// ignored, each counts as `UNICODE_CLASS_IGNORING_CASE` classes, for the lookup of all cases.
const MAX_UNICODE_CLASSES: usize = 1000;
const UNICODE_CLASS_IGNORING_CASE: usize = 10;

type Translated<T = ()> = Result<T, String>;

/// Returns the text with all special characters escaped.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(sign) {
            out.push('\\');
        }
        out.push(sign);
    }
    out
}

/// Expression in the other syntax: a match of either part is a match.
pub(super) struct Translation {
    /// Part without a condition; `None` if the whole has one.
    pub(super) plain: Option<String>,
    /// Last alternative, if it ends with `(?<!TEXT)$`.
    pub(super) last: Option<NegativeLookbehind>,
}

/// Alternative that matches at the end of the text, unless the text before the end is another one.
#[derive(Clone, Debug)]
pub(super) struct NegativeLookbehind {
    pub(super) expression: String,
    /// Text that must not be before the end.
    pub(super) text: String,
    /// `true` if `\n` is the only line end that may follow the end.
    pub(super) unix_lines: bool,
}

/// Returns the expression in the other syntax, or the reason that it cannot be translated.
/// `unicode_classes` counts those of all expressions that share a limit.
pub(super) fn translate(
    pattern: &str,
    flags: u32,
    unicode_classes: &mut usize,
) -> Translated<Translation> {
    if flags & !SUPPORTED_FLAGS != 0 {
        return Err(format!(
            "the flags {flags:#x} are not offered; use those of {SUPPORTED_FLAGS:#x}"
        ));
    }
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(format!(
            "{} bytes are over the limit of {MAX_PATTERN_BYTES} for one expression; ask in several \
             requests",
            pattern.len()
        ));
    }
    if flags & LITERAL != 0 {
        let ignore_case = if flags & CASE_INSENSITIVE != 0 { "(?i)" } else { "" };
        return Ok(Translation {
            plain: Some(format!("{ignore_case}{}", escape(pattern))),
            last: None,
        });
    }
    let rest = pattern.chars().collect::<Vec<_>>();
    let mut translator = Translator {
        rest,
        position: 0,
        out: String::new(),
        flags,
        groups: Vec::new(),
        bar: None,
        negative_lookbehind: None,
        unicode_classes: *unicode_classes,
    };
    translator.out.push_str(&flag_group(flags & (CASE_INSENSITIVE | COMMENTS), 0, ')'));
    translator.run()?;
    *unicode_classes = translator.unicode_classes;
    if translator.out.len() > MAX_REWRITTEN_BYTES {
        return Err(format!(
            "it is too large: it takes more than {MAX_REWRITTEN_BYTES} bytes without what is \
             Java's alone"
        ));
    }
    Ok(translator.finish())
}

/// Returns `(?ix-..)` for the flags that the other syntax has with the same letter and meaning,
/// empty if there are none.
fn flag_group(on: u32, off: u32, end: char) -> String {
    let letters = |flags: u32| {
        [(CASE_INSENSITIVE, 'i'), (COMMENTS, 'x')]
            .iter()
            .filter(|(flag, _)| flags & flag != 0)
            .map(|(_, letter)| *letter)
            .collect::<String>()
    };
    let (on, off) = (letters(on), letters(off));
    match (on.is_empty() && off.is_empty(), end) {
        (true, ')') => String::new(),
        (_, end) if off.is_empty() => format!("(?{on}{end}"),
        (_, end) => format!("(?{on}-{off}{end}"),
    }
}

struct Translator {
    rest: Vec<char>,
    position: usize,
    out: String,
    flags: u32,
    /// Flags outside of each open group.
    groups: Vec<u32>,
    /// Index of the last `|` outside of groups in `out`, and the flags there.
    bar: Option<(usize, u32)>,
    /// Text in a `(?<!TEXT)$` at the end.
    negative_lookbehind: Option<String>,
    /// Classes so far that are Unicode tables.
    unicode_classes: usize,
}

impl Translator {
    fn peek(&self) -> Option<char> {
        self.rest.get(self.position).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.position += usize::from(next.is_some());
        next
    }

    fn takes(&mut self, text: &str) -> bool {
        let found = text
            .chars()
            .enumerate()
            .all(|(offset, wanted)| self.rest.get(self.position + offset) == Some(&wanted));
        self.position += if found { text.chars().count() } else { 0 };
        found
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    fn run(&mut self) -> Translated {
        while let Some(next) = self.next() {
            match next {
                '\\' => self.escape()?,
                '[' => self.class(0)?,
                '(' => self.group()?,
                ')' => {
                    self.flags = self.groups.pop().ok_or("a ) has no (")?;
                    self.out.push(')');
                }
                '.' => self.out.push_str(match (self.has(DOTALL), self.has(UNIX_LINES)) {
                    (true, _) => "(?s:.)",
                    (false, true) => r"[^\n]",
                    (false, false) => r"[^\n\r\x{85}\x{2028}\x{2029}]",
                }),
                '^' | '$' if self.has(MULTILINE) => {
                    let carriage_return = if self.has(UNIX_LINES) { "" } else { "R" };
                    self.put(&format!("(?m{carriage_return}:{next})"));
                }
                '$' => self.end_of_text(),
                '*' | '+' | '?' => self.quantifier(next)?,
                '{' => self.counted()?,
                '#' if self.has(COMMENTS) => self.comment(),
                '|' => {
                    if self.groups.is_empty() {
                        self.bar = Some((self.out.len(), self.flags));
                    }
                    self.out.push('|');
                }
                other => self.out.push(other),
            }
        }
        if self.groups.is_empty() { Ok(()) } else { Err("a ( has no )".into()) }
    }

    fn finish(self) -> Translation {
        let Some(text) = self.negative_lookbehind else {
            return Translation { plain: Some(self.out), last: None };
        };
        let unix_lines = self.flags & UNIX_LINES != 0;
        let (plain, expression) = match self.bar {
            // Flags set before the bar apply after it.
            Some((bar, flags)) => {
                let flags = flag_group(flags & (CASE_INSENSITIVE | COMMENTS), 0, ')');
                (Some(self.out[..bar].to_owned()), format!("{flags}{}", &self.out[bar + 1..]))
            }
            None => (None, self.out),
        };
        Translation { plain, last: Some(NegativeLookbehind { expression, text, unix_lines }) }
    }

    /// Parses `<!TEXT)$` after a `(?`, if that is the rest and the text is plain or quoted.
    fn take_negative_lookbehind(&mut self) -> bool {
        let Some(text) = self.rest[self.position..]
            .strip_prefix(&['<', '!'])
            .and_then(|rest| rest.strip_suffix(&[')', '$']))
        else {
            return false;
        };
        let text = text.iter().collect::<String>();
        let quoted = text
            .strip_prefix(r"\Q")
            .and_then(|text| text.strip_suffix(r"\E"))
            .filter(|text| !text.contains(r"\E"));
        let is_plain = !text.is_empty() && !text.contains(|sign| r"\^$.|?*+()[]{}".contains(sign));
        let Some(text) = quoted.or(is_plain.then_some(&text)) else { return false };
        let has_cases = self.has(CASE_INSENSITIVE) && text.contains(char::is_alphabetic);
        if has_cases || !self.groups.is_empty() || self.has(COMMENTS | MULTILINE) {
            return false;
        }
        self.negative_lookbehind = Some(text.to_owned());
        self.position = self.rest.len();
        true
    }

    /// Writes the end of the text, or a position before a final line end.
    fn end_of_text(&mut self) {
        let line_end = if self.has(UNIX_LINES) { r"\n" } else { LINE_END };
        self.put(&format!(r"(?:{line_end}?\z)"));
    }

    fn comment(&mut self) {
        while self.next().is_some_and(|next| next != '\n') {}
    }

    fn counted(&mut self) -> Translated {
        self.out.push('{');
        loop {
            match self.next() {
                Some('}') => return self.quantifier('}'),
                Some(other) => self.out.push(other),
                None => return Err("a { has no }".into()),
            }
        }
    }

    fn quantifier(&mut self, sign: char) -> Translated {
        self.out.push(sign);
        match self.peek() {
            Some('+') => {
                Err("possessive quantifiers such as a++ are not offered; leave the second + away"
                    .into())
            }
            Some('*') => Err("a * has nothing to repeat".into()),
            Some('?') => {
                self.position += 1;
                self.out.push('?');
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn group(&mut self) -> Translated {
        let outside = self.flags;
        if !self.takes("?") {
            self.out.push('(');
            self.groups.push(outside);
            return Ok(());
        }
        if self.take_negative_lookbehind() {
            return Ok(());
        }
        if ["=", "!", "<=", "<!"].iter().any(|sign| self.takes(sign)) {
            let but = "only a plain text at the very end, as in (?<!TEXT)$, can be looked for";
            return Err(format!(
                "look-around with (?= (?! (?<= (?<! is not supported, because it takes unbounded \
                 time; {but}"
            ));
        }
        if self.takes(">") {
            return Err("atomic groups (?> are not offered; use (?:".into());
        }
        if self.takes("<") {
            self.out.push_str("(?<");
            self.groups.push(outside);
            return Ok(());
        }
        let (mut on, mut off, mut negated) = (0, 0, false);
        loop {
            let flag = match self.next() {
                Some('-') => {
                    negated = true;
                    continue;
                }
                Some(':') => {
                    self.groups.push(outside);
                    self.out.push_str(&flag_group(on, off, ':'));
                    break;
                }
                Some(')') => {
                    self.out.push_str(&flag_group(on, off, ')'));
                    break;
                }
                Some('i') => CASE_INSENSITIVE,
                Some('d') => UNIX_LINES,
                Some('m') => MULTILINE,
                Some('s') => DOTALL,
                Some('u') => UNICODE_CASE,
                Some('x') => COMMENTS,
                Some('U') => UNICODE_CHARACTER_CLASS | UNICODE_CASE,
                _ => return Err("a group begins with (? and something that is not known".into()),
            };
            *(if negated { &mut off } else { &mut on }) |= flag;
        }
        self.flags = (self.flags | on) & !off;
        Ok(())
    }

    fn class(&mut self, depth: usize) -> Translated {
        if depth > MAX_CLASS_DEPTH {
            return Err(format!(
                "more than {MAX_CLASS_DEPTH} character classes inside one another"
            ));
        }
        let start = self.out.len();
        self.out.push('[');
        if self.takes("^") {
            self.out.push('^');
        }
        let mut is_first = true;
        while let Some(next) = self.next() {
            match next {
                ']' if !is_first => {
                    self.out.push(']');
                    let class = &self.out[start..];
                    // A range of characters that are not ASCII is as large as a Unicode table.
                    if self.has(CASE_INSENSITIVE)
                        && class.contains('-')
                        && (!class.is_ascii() || class.contains(r"\x{"))
                    {
                        self.count_unicode_class()?;
                    }
                    return Ok(());
                }
                '[' => self.class(depth + 1)?,
                '\\' => self.class_escape()?,
                '&' if self.takes("&") => self.out.push_str("&&"),
                '-' if self.takes("-") => self.out.push_str(r"-\-"),
                ']' | '&' | '~' => self.out.extend(['\\', next]),
                other => self.out.push(other),
            }
            is_first = false;
        }
        Err("a [ has no ]".into())
    }

    /// Translates an escape that is valid only outside of a class.
    fn escape(&mut self) -> Translated {
        match self.peek() {
            Some('b' | 'B') if self.rest.get(self.position + 1) == Some(&'{') => {
                Err(r"\b{g} is not offered".into())
            }
            Some(letter @ ('b' | 'B' | 'A' | 'z')) => {
                self.position += 1;
                self.out.extend(['\\', letter]);
                Ok(())
            }
            Some('Z') => {
                self.position += 1;
                self.end_of_text();
                Ok(())
            }
            Some('R') => {
                self.position += 1;
                self.out.push_str(r"(?:\r\n|[\n\x0B\f\r\x{85}\x{2028}\x{2029}])");
                Ok(())
            }
            Some('1'..='9' | 'k') => {
                Err(r"back-references such as \1 are not offered, because they take unbounded time"
                    .into())
            }
            _ => self.class_escape(),
        }
    }

    /// Translates an escape that is also valid inside of a class.
    fn class_escape(&mut self) -> Translated {
        let unicode = self.has(UNICODE_CHARACTER_CLASS);
        let Some(letter) = self.next() else { return Err(r"it ends with a \".into()) };
        match letter {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' if unicode => {
                self.count_unicode_class()?;
                self.out.extend(['\\', letter]);
            }
            'd' => self.out.push_str("[0-9]"),
            'D' => self.out.push_str("[^0-9]"),
            'w' => self.out.push_str("[0-9A-Za-z_]"),
            'W' => self.out.push_str("[^0-9A-Za-z_]"),
            's' => self.out.push_str(r"[ \t\n\x0B\f\r]"),
            'S' => self.out.push_str(r"[^ \t\n\x0B\f\r]"),
            'h' => self.out.push_str(
                r"[\x20\t\x{A0}\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}]",
            ),
            'H' => self.out.push_str(
                r"[^\x20\t\x{A0}\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}]",
            ),
            'v' => self.out.push_str(r"[\n\x0B\f\r\x{85}\x{2028}\x{2029}]"),
            'V' => self.out.push_str(r"[^\n\x0B\f\r\x{85}\x{2028}\x{2029}]"),
            't' | 'n' | 'r' | 'f' | 'a' => self.out.extend(['\\', letter]),
            'e' => self.code_point(0x1b)?,
            'c' => {
                let control = self.next().ok_or(r"a \c has no letter")?;
                self.code_point(u32::from(control) ^ 64)?;
            }
            '0' => self.octal()?,
            'x' => self.hexadecimal()?,
            'u' => self.utf16()?,
            'p' | 'P' => self.property(letter == 'P')?,
            'Q' => self.quoted(),
            '<' | '>' => self.out.push(letter),
            punctuation if punctuation.is_ascii() && !punctuation.is_ascii_alphanumeric() => {
                self.out.extend(['\\', punctuation]);
            }
            other if !other.is_ascii() => self.out.push(other),
            other => return Err(format!(r"\{other} is not known")),
        }
        Ok(())
    }

    fn count_unicode_class(&mut self) -> Translated {
        self.unicode_classes +=
            if self.has(CASE_INSENSITIVE) { UNICODE_CLASS_IGNORING_CASE } else { 1 };
        if self.unicode_classes > MAX_UNICODE_CLASSES {
            return Err(format!(
                "more than {MAX_UNICODE_CLASSES} classes such as \\pL in one filter, ten times \
                 fewer if case is ignored; each is a table of all the characters it means"
            ));
        }
        Ok(())
    }

    fn quoted(&mut self) {
        let mut text = String::new();
        while !self.takes(r"\E") {
            match self.next() {
                Some(next) => text.push(next),
                None => break,
            }
        }
        self.out.push_str(&escape(&text));
    }

    fn code_point(&mut self, code: u32) -> Translated {
        if char::from_u32(code).is_none() {
            return Err(format!("U+{code:04X} is no character"));
        }
        self.put(&format!(r"\x{{{code:X}}}"));
        Ok(())
    }

    fn digits(&mut self, radix: u32, max: usize) -> Option<u32> {
        let mut value = None;
        for _ in 0..max {
            let Some(digit) = self.peek().and_then(|next| next.to_digit(radix)) else { break };
            self.position += 1;
            value = Some(value.unwrap_or(0) * radix + digit);
        }
        value
    }

    fn octal(&mut self) -> Translated {
        let max = if self.peek().is_some_and(|first| first <= '3') { 3 } else { 2 };
        let code = self.digits(8, max).ok_or(r"a \0 has no octal digits")?;
        self.code_point(code)
    }

    fn hexadecimal(&mut self) -> Translated {
        let start = self.position;
        let code = if self.takes("{") {
            let code = self.digits(16, 6);
            code.filter(|_| self.takes("}"))
        } else {
            self.digits(16, 2).filter(|_| self.position == start + 2)
        };
        self.code_point(code.ok_or(r"a \x needs two hexadecimal digits, or some in braces")?)
    }

    fn utf16(&mut self) -> Translated {
        let unit = self.utf16_unit()?;
        if !(0xd800..0xdc00).contains(&unit) {
            return self.code_point(unit);
        }
        let low = if self.takes(r"\u") { self.utf16_unit()? } else { 0 };
        match low.checked_sub(0xdc00) {
            Some(low) if low < 0x400 => self.code_point(0x1_0000 + ((unit - 0xd800) << 10) + low),
            _ => Err("it contains half of a surrogate pair".into()),
        }
    }

    fn utf16_unit(&mut self) -> Translated<u32> {
        let end = self.position + 4;
        self.digits(16, 4)
            .filter(|_| self.position == end)
            .ok_or_else(|| r"a \u needs four hexadecimal digits".into())
    }

    fn property(&mut self, negated: bool) -> Translated {
        let mut name = String::new();
        if self.takes("{") {
            while !self.takes("}") {
                name.push(self.next().ok_or(r"a \p{ has no }")?);
            }
        } else {
            name.extend(self.next());
        }
        let ascii = [
            "Lower", "Upper", "ASCII", "Alpha", "Digit", "Alnum", "Punct", "Graph", "Print",
            "Blank", "Cntrl", "XDigit", "Space",
        ];
        if ascii.contains(&name.as_str()) && !self.has(UNICODE_CHARACTER_CLASS) {
            let not = if negated { "^" } else { "" };
            self.put(&format!("[[:{not}{}:]]", name.to_ascii_lowercase()));
            return Ok(());
        }
        if name.starts_with("In") || name.starts_with("blk=") || name.starts_with("block=") {
            return Err(format!(
                r"\p{{{name}}}: blocks are not offered; use a script such as \p{{IsGreek}}"
            ));
        }
        self.count_unicode_class()?;
        let name = match name.as_str() {
            "javaLowerCase" => "Lowercase",
            "javaUpperCase" => "Uppercase",
            "javaAlphabetic" => "Alphabetic",
            other => other.strip_prefix("Is").unwrap_or(other),
        };
        self.put(&format!(r"\{}{{{name}}}", if negated { 'P' } else { 'p' }));
        Ok(())
    }
}
