//! Items ranked for a user, before and after the next version of the vectors:
//! `cargo run -p halite-example-features [DIR]`.

use std::io::Write as _;

use features::{Behavior, Entity, Features, Ranking, Vector};

/// 2024-03-15T00:00:00Z.
const T0: i64 = 1_710_460_800_000;
const USER: u64 = 7;
const ITEMS: u64 = 500;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).map_or_else(
        || std::env::temp_dir().join(format!("halite-features-{}", std::process::id())),
        Into::into,
    );
    let store = halite::open(directory)?;
    let features = Features::open(&store, "features")?;
    let items: Vec<u64> = (0..ITEMS).collect();

    features.write_vectors(1, &vectors(1))?;
    features.switch_to(1)?;
    let click = |id, item| {
        let at_ms = T0 + i64::try_from(id).unwrap_or(0) * 1_000;
        Behavior { id, user: USER, item, at_ms, kind: "click".to_owned() }
    };
    let clicks: Vec<Behavior> = (0..90).map(|id| click(id, id % 3)).collect();
    features.record(&clicks)?;
    // The reply was lost, and the clicks are sent again.
    features.record(&clicks)?;
    print(&features.ranking(USER, &items)?)?;

    // A batch writes the next version beside the one that is in use, and then changes to it.
    features.write_vectors(2, &vectors(2))?;
    print(&features.ranking(USER, &items)?)?;
    features.switch_to(2)?;
    print(&features.ranking(USER, &items)?)?;

    let recent = features.recent(USER, 3)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "last behavior, from {} rows", recent.examined)?;
    for Behavior { item, at_ms, kind, .. } in recent.items {
        writeln!(out, "  second {:>2}  {kind} of item {item}", (at_ms - T0) / 1_000)?;
    }
    Ok(store.close()?)
}

/// Returns vectors in which other items are near the user in each version.
fn vectors(version: u16) -> Vec<Vector> {
    let direction = |number: u64| {
        let angle = f32::from(u16::try_from(number).unwrap_or(0)) * f32::from(version) * 0.01;
        vec![angle.cos(), angle.sin()]
    };
    let of = |of, number| Vector { of, values: direction(number) };
    let items = (0..ITEMS).map(|item| of(Entity::Item(item), item));
    std::iter::once(of(Entity::User(USER), 100 * USER)).chain(items).collect()
}

fn print(ranking: &Ranking) -> std::io::Result<()> {
    let user = ranking.user.clone().unwrap_or_default();
    let score = |vector: &[f32]| -> f32 { user.iter().zip(vector).map(|(a, b)| a * b).sum() };
    let mut scores: Vec<(f32, u64)> = ranking
        .items
        .iter()
        .filter_map(|item| Some((score(item.vector.as_ref()?), item.item)))
        .collect();
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    let best: Vec<u64> = scores.iter().take(3).map(|(_, item)| *item).collect();
    let clicks: Vec<i64> =
        ranking.items[..3].iter().map(|item| item.clicks.iter().map(|(_, n)| n).sum()).collect();
    let (version, count) = (ranking.version, scores.len());
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "version {version}: best of {count} items {best:?}; clicks of the first {clicks:?}"
    )
}
