//! Generators of values: distributions, lists, counters and the clock, alone or inside text.

use std::fmt::Write as _;

use fastrand::Rng;
use halite_rowkey::value::{FieldType, TimeUnit, Value};

/// Maximum values of a distribution that is stored as a table.
const MAX_ZIPF_VALUES: u64 = 1_000_000;
/// Maximum width of a number in a pattern.
const MAX_NUMBER_WIDTH: usize = 32;
/// Available generators, for messages.
const GENERATOR_HELP: &str = "uniform(n), zipf(n,s), hot(share,n), seq(from), cycle(n), \
                              one(a,b,c), random, uuid, now(rate/s, jitter=500ms, step=1s), or \
                              text with draws in braces as in sensor_{uniform(100):05}";

/// Names of the generators, with their minimum and maximum number of arguments.
const GENERATORS: [(&str, usize, usize); 9] = [
    ("uniform", 1, 1),
    ("zipf", 2, 2),
    ("hot", 2, 2),
    ("seq", 0, 1),
    ("cycle", 1, 1),
    ("one", 1, usize::MAX),
    ("random", 0, 0),
    ("uuid", 0, 0),
    ("now", 0, 3),
];

/// Generator of the values of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldSpec {
    parts: Vec<TemplatePart>,
    /// Operations per second, if the field specifies them.
    pub(super) rate: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
enum TemplatePart {
    Text(String),
    Generator(ValueGenerator, usize),
}

#[derive(Clone, Debug, PartialEq)]
enum ValueGenerator {
    Uniform(u64),
    /// Cumulative share of the values up to each one.
    Zipf(Vec<f64>),
    Hot {
        share: f64,
        values: u64,
    },
    Sequence(u64),
    Cycle(u64),
    One(Vec<String>),
    Random,
    Uuid,
    Now {
        jitter_ms: u64,
        step_ms: u64,
    },
}

/// Value before it has a type.
#[derive(Clone, Debug, PartialEq)]
pub enum GeneratedValue {
    /// Number.
    Number(u64),
    /// Time in milliseconds since 1970.
    Time(i64),
    /// Sixteen bytes.
    Uuid(u128),
    /// Text, in the notation of the field's type.
    Text(String),
}

impl FieldSpec {
    /// Parses a specification.
    ///
    /// # Errors
    /// The reason, with the available generators.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut spec = Self { parts: Vec::new(), rate: None };
        if !text.contains('{') {
            let part = match text.split_once('(') {
                Some((name, rest)) => TemplatePart::Generator(
                    spec.call(
                        name.trim(),
                        rest.strip_suffix(')').ok_or_else(|| format!("{text}: ) is missing"))?,
                    )?,
                    0,
                ),
                None if GENERATORS.iter().any(|(name, least, _)| *name == text && *least == 0) => {
                    TemplatePart::Generator(spec.call(text, "")?, 0)
                }
                None if GENERATORS.iter().any(|(name, ..)| *name == text) => {
                    return Err(format!(
                        "{text} is drawn with what it takes in parentheses, and one({text}) is the \
                         word itself; there are {GENERATOR_HELP}"
                    ));
                }
                None => TemplatePart::Text(text.to_owned()),
            };
            spec.parts.push(part);
            return Ok(spec);
        }
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            let (inside, behind) =
                behind.split_once('}').ok_or_else(|| format!("{text}: }} is missing"))?;
            spec.parts.push(TemplatePart::Text(before.to_owned()));
            let (call, width) = inside.rsplit_once(':').unwrap_or((inside, ""));
            let width = if width.is_empty() {
                0
            } else {
                width
                    .parse()
                    .map_err(|_| format!("{text}: a width like 05 must follow :, not {width:?}"))?
            };
            if width > MAX_NUMBER_WIDTH {
                return Err(format!("{text}: a number has at most {MAX_NUMBER_WIDTH} digits"));
            }
            let (name, arguments) = call.split_once('(').unwrap_or((call, ")"));
            let arguments =
                arguments.strip_suffix(')').ok_or_else(|| format!("{text}: ) is missing"))?;
            let draw = spec.call(name.trim(), arguments)?;
            if width > 0 && matches!(draw, ValueGenerator::Uuid | ValueGenerator::One(_)) {
                return Err(format!(
                    "{text}: only numbers are filled up with zeros, and {call} is none"
                ));
            }
            spec.parts.push(TemplatePart::Generator(draw, width));
            rest = behind;
        }
        spec.parts.push(TemplatePart::Text(rest.to_owned()));
        Ok(spec)
    }

    fn call(&mut self, name: &str, arguments: &str) -> Result<ValueGenerator, String> {
        let given: Vec<&str> = if arguments.trim().is_empty() {
            Vec::new()
        } else {
            arguments.split(',').map(str::trim).collect()
        };
        if given.iter().any(|argument| argument.is_empty()) {
            return Err(format!(
                "{name}({arguments}): there is nothing between two commas, or after the last one"
            ));
        }
        // Too few arguments are reported below, with the expected ones.
        if let Some((_, _, most)) =
            GENERATORS.iter().find(|(known, _, most)| *known == name && given.len() > *most)
        {
            return Err(format!(
                "{name}({arguments}): {} values are given, and it takes {most} at most; there are \
                 {GENERATOR_HELP}",
                given.len()
            ));
        }
        let count = |at: usize| match given.get(at).and_then(|text| text.parse::<u64>().ok()) {
            Some(count) if count > 0 => Ok(count),
            _ => Err(format!(
                "{name}({arguments}): a number of values above 0 is wanted; there are \
                 {GENERATOR_HELP}"
            )),
        };
        let real = |at: usize| match given.get(at).and_then(|text| text.parse::<f64>().ok()) {
            Some(number) if number.is_finite() && number >= 0.0 => Ok(number),
            _ => Err(format!(
                "{name}({arguments}): a number like 1.1 is wanted; there are {GENERATOR_HELP}"
            )),
        };
        Ok(match name {
            "uniform" => ValueGenerator::Uniform(count(0)?),
            "zipf" => ValueGenerator::Zipf(zipf(count(0)?, real(1)?)?),
            "hot" => ValueGenerator::Hot {
                share: Some(real(0)?)
                    .filter(|share| *share <= 1.0)
                    .ok_or("hot(share,n): a share is 0 to 1")?,
                values: count(1)?,
            },
            "seq" => ValueGenerator::Sequence(given.first().map_or(Ok(0), |text| {
                text.parse().map_err(|_| format!("seq({text}): a number is wanted"))
            })?),
            "cycle" => ValueGenerator::Cycle(count(0)?),
            "one" if !given.is_empty() => {
                ValueGenerator::One(given.into_iter().map(str::to_owned).collect())
            }
            "random" => ValueGenerator::Random,
            "uuid" => ValueGenerator::Uuid,
            "now" => self.now(&given)?,
            _ => {
                return Err(format!("there is no {name}({arguments}); there are {GENERATOR_HELP}"));
            }
        })
    }

    fn now(&mut self, given: &[&str]) -> Result<ValueGenerator, String> {
        let (mut jitter_ms, mut step_ms) = (0, 1);
        let kind =
            |argument: &str| argument.split_once('=').map_or("", |(name, _)| name).to_owned();
        for (at, argument) in given.iter().enumerate() {
            if given[..at].iter().any(|before| kind(before) == kind(argument)) {
                return Err(format!(
                    "now({}): {argument} says again what was said before",
                    given.join(", ")
                ));
            }
            if let Some(rate) = argument.strip_suffix("/s") {
                if self.rate.is_some() {
                    return Err(format!(
                        "now({argument}): give the number of operations per second once"
                    ));
                }
                let rate = rate
                    .trim_start_matches('+')
                    .parse::<f64>()
                    .ok()
                    .filter(|rate| *rate > 0.0 && rate.is_finite());
                self.rate = Some(rate.ok_or_else(|| {
                    format!("now({argument}): operations in a second are wanted, like 1000/s")
                })?);
            } else if let Some(time) = argument.strip_prefix("jitter=") {
                jitter_ms = duration_ms(time)?;
            } else if let Some(time) = argument.strip_prefix("step=") {
                step_ms = duration_ms(time)?.max(1);
            } else {
                return Err(format!("now({argument}): 1000/s, jitter=500ms or step=1s is wanted"));
            }
        }
        Ok(ValueGenerator::Now { jitter_ms, step_ms })
    }

    /// Returns the value of one operation.
    pub(crate) fn generate(&self, rng: &mut Rng, operation: u64, time_ms: i64) -> GeneratedValue {
        if let [TemplatePart::Generator(draw, 0)] = self.parts.as_slice() {
            return draw.generate(rng, operation, time_ms);
        }
        let mut text = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(literal) => text.push_str(literal),
                TemplatePart::Generator(draw, width) => {
                    // Writing to a string does not fail.
                    let _ = match draw.generate(rng, operation, time_ms) {
                        GeneratedValue::Number(number) => {
                            write!(text, "{number:0width$}", width = *width)
                        }
                        GeneratedValue::Time(time) => {
                            write!(text, "{time:0width$}", width = *width)
                        }
                        GeneratedValue::Uuid(bits) => write!(text, "{bits:032x}"),
                        GeneratedValue::Text(drawn) => write!(text, "{drawn}"),
                    };
                }
            }
        }
        GeneratedValue::Text(text)
    }
}

impl ValueGenerator {
    fn generate(&self, rng: &mut Rng, operation: u64, time_ms: i64) -> GeneratedValue {
        match self {
            Self::Uniform(values) => GeneratedValue::Number(rng.u64(0..*values)),
            Self::Zipf(table) => {
                let drawn = rng.f64();
                GeneratedValue::Number(
                    table.partition_point(|share| *share < drawn).min(table.len() - 1) as u64,
                )
            }
            Self::Hot { share, .. } if rng.f64() < *share => GeneratedValue::Number(0),
            Self::Hot { values, .. } => GeneratedValue::Number(1 + rng.u64(0..*values)),
            Self::Sequence(from) => GeneratedValue::Number(from.wrapping_add(operation)),
            Self::Cycle(values) => GeneratedValue::Number(operation % values),
            Self::One(list) => GeneratedValue::Text(list[rng.usize(0..list.len())].clone()),
            Self::Random => GeneratedValue::Number(rng.u64(..)),
            Self::Uuid => {
                GeneratedValue::Uuid((rng.u128(..) & !(0xf << 76) & !(3 << 62)) | 4 << 76 | 2 << 62)
            }
            Self::Now { jitter_ms, step_ms } => {
                let step = i64::try_from(*step_ms).unwrap_or(i64::MAX);
                let late = if *jitter_ms > 0 { rng.u64(0..*jitter_ms).cast_signed() } else { 0 };
                GeneratedValue::Time(time_ms.div_euclid(step) * step + late)
            }
        }
    }
}

impl GeneratedValue {
    /// Returns the value for a field of this type.
    ///
    /// # Errors
    /// The type mismatch, as the end of a sentence.
    #[expect(clippy::cast_precision_loss, reason = "a drawn number may be rounded")]
    pub(crate) fn value(&self, ty: FieldType) -> Result<Value<'static>, String> {
        let value = match (self, ty) {
            (Self::Text(text), _) => return ty.parse(text),
            (Self::Uuid(bits), FieldType::Uuid) => Value::Uuid(bits.to_be_bytes()),
            (Self::Uuid(bits), _) => return ty.parse(&format!("{bits:032x}")),
            (Self::Time(ms), FieldType::Timestamp(unit)) => {
                Value::Signed(ms.saturating_mul(unit.per_second() / TimeUnit::Millis.per_second()))
            }
            (Self::Time(ms), FieldType::Date) => Value::Signed(ms.div_euclid(86_400_000)),
            (Self::Time(ms), FieldType::U32 | FieldType::I32) => {
                return ty.parse(&ms.div_euclid(1000).to_string());
            }
            // Digits of text as wide as the field, padded with zeros.
            (Self::Number(number), FieldType::Char(width)) => {
                return ty.parse(&format!("{number:0width$}", width = usize::from(width)));
            }
            // Generated values need not be exact to the last digit.
            (Self::Number(number), FieldType::F32) => Value::F32(*number as f32),
            (Self::Number(number), FieldType::F64) => Value::F64(*number as f64),
            (Self::Time(ms), FieldType::F32) => Value::F32(*ms as f32),
            (Self::Time(ms), FieldType::F64) => Value::F64(*ms as f64),
            (Self::Time(ms), _) => return ty.parse(&ms.to_string()),
            (Self::Number(number), _) => return ty.parse(&number.to_string()),
        };
        Ok(value)
    }
}

/// Returns the cumulative share of the values up to each of `n`, by Zipf's law with exponent `s`.
#[expect(clippy::cast_precision_loss, reason = "at most a million")]
fn zipf(n: u64, s: f64) -> Result<Vec<f64>, String> {
    if n > MAX_ZIPF_VALUES {
        return Err(format!("zipf({n},{s}): at most {MAX_ZIPF_VALUES} values are possible"));
    }
    let mut sum = 0.0;
    let mut table: Vec<f64> = (1..=n)
        .map(|rank| (rank as f64).powf(-s))
        .map(|weight| {
            sum += weight;
            sum
        })
        .collect();
    table.iter_mut().for_each(|share| *share /= sum);
    Ok(table)
}

/// Parses `500ms`, `1s`, `15m`, `1h`, `1d`.
pub(super) fn duration_ms(text: &str) -> Result<u64, String> {
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let found = units.iter().find_map(|(unit, ms)| {
        text.trim().strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(*ms)
    });
    found.ok_or_else(|| {
        format!("{text:?} is no duration; one like 500ms, 10s, 15m, 1h or 1d is wanted")
    })
}
