//! K14: a digest in front of a key or in its place: computed by every client alike.

use halite::key::hexadecimal;

use crate::counted::Counted;
use crate::{Lab, Page, Part};

pub(super) const PAGE: Page =
    Page { id: "K14", title: "A hash in front of the key, or in its place", rules: &["K-TRUNC", "K-ENTROPY"], see: &["K13", "K01", "K29"], run };

/// The first eight bytes of the digests of "abc", as their standards print them (RFC 1321, FIPS 180-4).
const STANDARD: [(&str, u16, &str); 4] =
    [("md5", 16, "900150983cd24fb0"), ("sha1", 20, "a9993e364706816a"), ("sha256", 32, "ba7816bf8f01cfea"), ("sha512", 64, "ddaf35a193617aba")];

fn run(lab: &mut Lab) -> anyhow::Result<()> {
    lab.part(Part::Purpose);
    lab.say(
        "A digest spreads keys as a salt does, over as many places as its bytes have values, and whoever knows the key computes it again: reading \
         one row takes one get. It stands in front of the field, or in the place of it where the field is long and only asked for whole.",
    );
    lab.part(Part::Declared);
    let text = "CREATE TABLE users (\n  name STRING FAMILY u QUALIFIER n,\n  ROW KEY (HASH(id BYTES 2 USING md5), id STRING)\n) SPLIT INTO 16";
    let (table, key) = lab.declare(text)?;
    lab.say("In the place of the field: its type stands inside the hash, and nothing else of it is in the key.");
    let replaced = lab.key("ROW KEY (HASH(url STRING BYTES 16 USING sha256))")?;

    lab.part(Part::Shown);
    lab.write(&table, &key, &["id=user_1"], "u:n", "Ada")?;
    lab.write(&table, &key, &["id=user_2"], "u:n", "Grace")?;
    lab.explain(&key, &["id=user_2"], None)?;
    let (counted, reads) = Counted::around(lab.seam(&table)?);
    let found = lab.carry_out(counted, &lab.plan(&key, &["id=user_2"], None)?)?;
    let name = found.first().and_then(|row| row.value("u", "n"));
    lab.claim(name == Some(b"Grace") && (reads.gets(), reads.scans()) == (1, 0), "The row of user_2 is found by one get.")?;
    let again = lab.key_of(&key, &["id=user_2"])?;
    lab.claim(found.first().is_some_and(|row| row.key() == again), "Computed again, the key is the same.")?;
    digests(lab)?;
    let url = "url=https://example.org/catalogue/2024/spring/shoes?colour=green&size=41";
    let short = lab.encode(&replaced, &[url])?;
    lab.claim(short.len() == 16, "A long address becomes 16 bytes. It cannot be read back from them, so it belongs into a column too.")?;

    lab.part(Part::Costs);
    lab.say(
        "Neighbours are torn apart: a range or a prefix of the hashed field is a scan of the whole table. Hash only what is always asked for by \
         equality. Two bytes tell 65,536 places apart, which is enough to spread rows; more of them only make the key longer. A hash in the \
         place of a field has to be long enough that no two values meet: 16 bytes are.",
    );
    let (short, long) = ("ROW KEY (HASH(url STRING BYTES 2), ts TIMESTAMP)", "ROW KEY (HASH(url BYTES 2), url STRING, ts TIMESTAMP)");
    lab.caught("K-TRUNC", short, long)?;
    lab.caught("K-ENTROPY", "ROW KEY (HASH(id BYTES 16 USING md5 HEX), id STRING)", "ROW KEY (HASH(id BYTES 2 USING md5), id STRING)")
}

/// The four digests, against what their standards print.
fn digests(lab: &mut Lab) -> anyhow::Result<()> {
    lab.say("Of the id \"abc\", the first eight bytes under each function:");
    let mut rows = Vec::new();
    let mut right = 0;
    for (function, bytes, standard) in STANDARD {
        let key = format!("ROW KEY (HASH(id STRING BYTES {bytes} USING {function}))").parse()?;
        let (once, twice) = (lab.key_of(&key, &["id=abc"])?, lab.key_of(&key, &["id=abc"])?);
        right += usize::from(once == twice && once.len() == usize::from(bytes) && hexadecimal(&once[..8]) == standard);
        rows.push([function.to_owned(), bytes.to_string(), hexadecimal(&once[..8])]);
    }
    lab.figures(&["function", ">bytes", "of abc"], rows);
    lab.claim(right == 4, "They are what the standards of MD5, SHA-1, SHA-256 and SHA-512 print for it.")
}
