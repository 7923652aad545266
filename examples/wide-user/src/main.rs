//! A user orders twelve times: `cargo run -p halite-example-wide-user [DIR]`.

use std::io::Write as _;

use wide_user::{Order, Users};

/// 2024-03-15T00:00:00Z.
const T0: i64 = 1_710_460_800_000;
const DAY_MS: i64 = 86_400_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).map_or_else(
        || std::env::temp_dir().join(format!("halite-wide-user-{}", std::process::id())),
        Into::into,
    );
    let store = halite::open(directory)?;
    let users = Users::open(&store, "wide_user")?;
    users.rename("ada", "Ada Lovelace")?;
    for day in 0..12 {
        let order = Order { id: 100 + day, at_ms: T0 + day.cast_signed() * DAY_MS, cents: 995 };
        users.add_order("ada", &order)?;
        // The reply was lost, and the order is sent again.
        users.add_order("ada", &order)?;
    }

    let user = users.page("ada")?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}: {} orders, the last of them", user.name, user.order_count)?;
    for Order { id, at_ms, cents } in &user.last_orders {
        let day = (at_ms - T0) / DAY_MS;
        writeln!(out, "  day {day:>2}  order {id}  {}.{:02}", cents / 100, cents % 100)?;
    }
    Ok(store.close()?)
}
