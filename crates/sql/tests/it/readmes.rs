//! SQL of the examples' READMEs: each statement is run on rows like those of the example's program,
//! and answers what the example's library answers.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use halite::rowkey::typed::Days;

use crate::store::TestStore;

/// 2024-03-15T00:00:00Z, as in the examples.
const T0: i64 = 1_710_460_800_000;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 86_400_000;

/// Store of an example, and the statements of its README by their names.
struct Example {
    store: TestStore,
    statements: BTreeMap<String, String>,
}

impl Example {
    fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let page = std::fs::read_to_string(root.join(name).join("README.md")).expect("a README");
        let blocks = page.split("```sql\n").skip(1).filter_map(|block| block.split("```").next());
        let mut statements = BTreeMap::new();
        for text in blocks.flat_map(|block| block.split(';')).map(str::trim) {
            if text.is_empty() {
                continue;
            }
            let named = text.strip_prefix("-- ").and_then(|text| text.split_once('\n'));
            let (name, text) =
                named.unwrap_or_else(|| panic!("a statement without a name: {text}"));
            let twice = statements.insert(name.to_owned(), text.to_owned());
            assert_eq!(twice, None, "{name} is there twice");
        }
        assert!(!statements.is_empty(), "{name} has no SQL");
        Self { store: TestStore::new(), statements }
    }

    /// Checks that a statement returns these values in these columns.
    #[track_caller]
    fn answers(&mut self, name: &str, columns: &[&str], expected: &[String]) {
        let text = self.statements.remove(name);
        let text = text.unwrap_or_else(|| panic!("no {name} in {:?}", self.statements.keys()));
        let found = self.store.run(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found.notices, [""; 0], "{name}");
        let at: Vec<usize> = columns
            .iter()
            .map(|column| {
                let at = found.columns.iter().position(|found| found == column);
                at.unwrap_or_else(|| panic!("{name}: no {column} in {:?}", found.columns))
            })
            .collect();
        let rows: Vec<String> = found
            .rows
            .iter()
            .map(|row| at.iter().map(|&at| &row[at][..]).collect::<Vec<_>>().join("|"))
            .collect();
        assert_eq!(rows, expected, "{name}");
        assert!(!rows.is_empty(), "{name} finds nothing");
    }

    /// Checks that all statements were asked.
    fn finish(self) {
        assert!(self.statements.is_empty(), "not asked: {:?}", self.statements.keys());
    }
}

/// Returns a number as SQL prints it.
fn real(value: f64) -> String {
    format!("{value:?}")
}

fn row(values: &[&dyn Display]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join("|")
}

#[test]
fn messages_are_those_of_the_mailbox() {
    use messages::{Edit, Mailbox, Message, PageRequest};

    let mut example = Example::new("messages");
    let mailbox = Mailbox::open(&example.store.store, "messages").expect("tables");
    let message = |id, sender: &str, receiver: &str, minute, body: &str| Message {
        sender: sender.into(),
        receiver: receiver.into(),
        sent_ms: T0 + minute * MINUTE_MS,
        id,
        body: body.into(),
        edited_ms: None,
    };
    let lunch = message(1, "ada", "grace", 0, "Lunch at twelve?");
    let sent = [
        lunch.clone(),
        message(2, "grace", "ada", 1, "Gladly."),
        message(3, "alan", "grace", 2, "The tape is in room 5."),
        message(4, "ada", "grace", 3, "See you"),
        message(5, "ada", "grace", 3, "See you"),
        message(6, "ada", "grace", -20 * 24 * 60, "February"),
        message(7, "zoe", "grace2", 0, "of another user"),
    ];
    mailbox.send(&sent).expect("messages");
    let edit = Edit { message: lunch.clone(), at_ms: T0 + 4 * MINUTE_MS, body: "At one?".into() };
    mailbox.edit(&[edit]).expect("an edit");

    let of = |page: halite::Result<halite::rowkey::Page<Message>>| -> Vec<String> {
        let page = page.expect("a page");
        page.items.iter().map(|found| row(&[&found.sender, &found.id, &found.body])).collect()
    };
    let march =
        PageRequest { sent_ms: T0 - 14 * DAY_MS..T0 + 17 * DAY_MS, ..PageRequest::newest(50) };
    let columns = ["sender", "id", "body"];
    let newest = of(mailbox.received("grace", &PageRequest::newest(50)));
    example.answers("received", &columns, &newest);
    assert_eq!(newest.len(), 5);
    let first = mailbox.received("grace", &PageRequest::newest(1)).expect("a page");
    assert_eq!(first.items[0].id, 4, "the page of the README ends after it");
    let next = PageRequest { after: first.next, ..PageRequest::newest(50) };
    example.answers("received, next page", &columns, &of(mailbox.received("grace", &next)));
    example.answers("received in March", &columns, &of(mailbox.received("grace", &march)));
    let talk = of(mailbox.conversation("grace", "ada", &PageRequest::newest(50)));
    example.answers("conversation", &columns, &talk);
    let sent = mailbox.sent("ada", &march).expect("a page");
    let sent: Vec<String> =
        sent.items.iter().map(|found| row(&[&found.receiver, &found.id, &found.body])).collect();
    example.answers("sent in March", &["receiver", "id", "body"], &sent);
    let history = mailbox.history(&lunch).expect("versions");
    let mut bodies: Vec<(i64, String)> =
        history.into_iter().map(|version| (-version.at_ms, version.body)).collect();
    bodies.sort();
    let bodies: Vec<String> = bodies.into_iter().map(|(_, body)| body).collect();
    assert_eq!(bodies.len(), 2);
    example.answers("history", &["body"], &bodies);
    example.finish();
}

#[test]
fn analytics_are_those_of_the_counters_and_rows() {
    use analytics::{Analytics, Event, Kind};

    let mut example = Example::new("analytics");
    let analytics = Analytics::open(&example.store.store, "analytics").expect("tables");
    let mut events = Vec::new();
    let mut add = |user: u32, at_ms: i64, kind| {
        events.push(Event { id: events.len() as u64, user, at_ms: T0 + at_ms, kind });
    };
    for user in 0..100_u32 {
        let at_ms = i64::from(user % 24) * HOUR_MS;
        add(user, at_ms, Kind::Join);
        if user % 2 == 0 {
            add(user, at_ms + MINUTE_MS, Kind::View);
        }
        if user % 5 == 0 {
            add(user, DAY_MS + at_ms, Kind::Login);
            add(user, DAY_MS + at_ms + 1, Kind::Login);
        }
    }
    analytics.record(&events).expect("events");
    let first = Days(i32::try_from(T0 / DAY_MS).expect("a day"));
    let second = Days(first.0 + 1);
    let logins = analytics.logins(5, second).expect("logins").aggregated;
    assert_eq!(logins, 2);
    example.answers("logins", &["logins"], &[row(&[&logins])]);
    let users = analytics.exact_users(first).expect("users").users;
    example.answers("exact users", &["users"], &[row(&[&users])]);
    let board = analytics.board(T0..T0 + HOUR_MS).expect("a board").counts;
    let mut board: Vec<(i64, &str, i64)> =
        board.into_iter().map(|((at_ms, kind), count)| (at_ms, kind.name(), count)).collect();
    board.sort_unstable();
    let board: Vec<String> = board.iter().map(|(_, kind, count)| row(&[kind, count])).collect();
    example.answers("board", &["kind", "events"], &board);
    let returned = analytics.retention(first, second).expect("retention").returned;
    assert_eq!(returned, 20);
    example.answers("retention", &["returned"], &[row(&[&returned])]);
    example.finish();
}

#[test]
fn features_are_those_of_the_ranking() {
    use features::{Behavior, Entity, Features, Vector};

    let mut example = Example::new("features");
    let features = Features::open(&example.store.store, "features").expect("tables");
    let vector = |item| Vector { of: Entity::Item(item), values: vec![0.5, 1.5] };
    let mut vectors: Vec<Vector> = (60..80).map(vector).collect();
    vectors.push(Vector { of: Entity::User(7), values: vec![1.0, 0.0] });
    features.write_vectors(1, &vectors).expect("vectors");
    features.switch_to(1).expect("a version");
    let clicks: Vec<Behavior> = (0..60)
        .map(|id| Behavior {
            id,
            user: 7 + id % 2,
            item: 71 + id % 3,
            at_ms: T0 + id.cast_signed() * 1_000,
            kind: "click".to_owned(),
        })
        .collect();
    features.record(&clicks).expect("events");
    let version = features.version().expect("a version");
    example.answers("version", &["version"], &[row(&[&version])]);
    let ranking = features.ranking(7, &[71, 72, 73]).expect("a ranking");
    let mut items: Vec<String> = ranking
        .items
        .iter()
        .map(|item| {
            let bytes = item.vector.as_ref().expect("a vector");
            let bytes = bytes.iter().flat_map(|value| value.to_be_bytes());
            let hex: String = bytes.map(|byte| format!("{byte:02x}")).collect();
            row(&[&item.item, &format!("\\x{hex}")])
        })
        .collect();
    items.sort();
    example.answers("vectors of some items", &["item", "vector"], &items);
    let recent = features.recent(7, 50).expect("events").items;
    let recent: Vec<String> =
        recent.iter().map(|event| row(&[&event.id, &event.item, &event.kind])).collect();
    assert_eq!(recent.len(), 30);
    example.answers("recent", &["id", "item", "kind"], &recent);
    example.finish();
}

#[test]
fn feed_is_what_was_pushed_and_what_is_pulled() {
    use feed::{Comment, Feed, Options, Post};

    let mut example = Example::new("feed");
    let options = Options { max_pushed: 5, ..Options::default() };
    let feed = Feed::open(&example.store.store, "feed", options).expect("tables");
    feed.follow(1, 2).expect("a follower");
    feed.follow(1, 3).expect("a follower");
    for fan in 100..120 {
        feed.follow(fan, 3).expect("a follower");
    }
    let post = |author, minute: i64, id, text: &str| Post {
        author,
        at_ms: T0 + minute * MINUTE_MS,
        id,
        text: text.to_owned(),
    };
    for post in [
        post(3, 0, 1, "hello"),
        post(2, 1, 2, "lunch"),
        post(3, 2, 3, "a new song"),
        post(2, 2, 4, "a bug in the relay"),
    ] {
        feed.publish(&post).expect("a post");
    }
    for fan in 100..110 {
        feed.like(fan, 3, T0).expect("a like");
    }
    for id in 5..7 {
        let comment = Comment { post: 3, at_ms: T0, id, user: 1, text: format!("again {id}") };
        feed.comment(&comment).expect("a comment");
    }
    let columns = ["author", "id", "text"];
    let page = feed.page(1, 20, None).expect("a page").posts;
    let of = |author: u64| -> Vec<String> {
        let of_author = page.iter().filter(|post| post.author == author);
        of_author.map(|post| row(&[&post.author, &post.id, &post.text])).collect()
    };
    assert_eq!((of(2).len(), of(3).len()), (2, 2));
    let pushed: Vec<String> =
        example.store.rows("SELECT author, id FROM feed.timeline WHERE owner = 1");
    assert!(!pushed.is_empty());
    // The first post of the star was pushed or pulled, as the number of followers was then.
    let is_pushed = |post: &String| pushed.iter().any(|key| post.starts_with(&format!("{key}|")));
    let all: Vec<String> =
        page.iter().map(|post| row(&[&post.author, &post.id, &post.text])).collect();
    let expected: Vec<String> = all.into_iter().filter(is_pushed).collect();
    example.answers("pushed", &columns, &expected);
    example.answers("pulled", &columns, &of(3));
    let likes = feed.likes(3).expect("likes");
    assert_eq!(likes, 10);
    example.answers("likes", &["likes"], &[row(&[&likes])]);
    let comments = feed.comments(3, 20, None).expect("comments").items;
    let comments: Vec<String> =
        comments.iter().map(|found| row(&[&found.id, &found.user, &found.text])).collect();
    example.answers("comments", &["id", "user", "text"], &comments);
    example.finish();
}

#[test]
fn files_are_those_of_the_tree() {
    use files::{Files, Kind, Node, ROOT};

    let mut example = Example::new("files");
    let files = Files::open(&example.store.store, "files").expect("tables");
    let node = |id, parent, name: &str, kind, size| Node {
        id,
        parent,
        name: name.to_owned(),
        kind,
        owner: "ada".to_owned(),
        size,
        version: 0,
    };
    for nodes in [
        vec![node(1, ROOT, "photos", Kind::Directory, 0)],
        vec![node(3, 1, "2024", Kind::Directory, 0)],
        vec![
            node(10, 3, "cat.jpg", Kind::File, 40_000),
            node(11, 3, "dog.jpg", Kind::File, 50_000),
        ],
    ] {
        files.create(&nodes).expect("nodes");
    }
    let list = files.list(3, 1_000, None).expect("a list").items;
    let list: Vec<String> =
        list.iter().map(|entry| row(&[&entry.name, &entry.id, &entry.size])).collect();
    example.answers("list", &["name", "child", "size"], &list);
    let found = files.node(10).expect("a node").expect("a node");
    let found = row(&[&found.parent, &found.name, &found.owner, &found.size]);
    example.answers("node", &["parent", "name", "owner", "size"], &[found]);
    let id = files.find("/photos/2024/cat.jpg").expect("a path").expect("a node");
    example.answers("find /photos/2024/cat.jpg", &["child"], &[row(&[&id])]);
    let owned = files.of_owner("ada", Some(3), 50, None).expect("files").items;
    let owned: Vec<String> =
        owned.iter().map(|entry| row(&[&entry.name, &entry.id, &entry.size])).collect();
    example.answers("files of an owner", &["name", "child", "size"], &owned);
    example.finish();
}

#[test]
fn logs_are_the_lines_of_a_host_and_of_a_moment() {
    use logs::{Layout, Line, Logs, Question};

    let mut example = Example::new("logs");
    let logs = Logs::open(&example.store.store, "logs").expect("tables");
    let lines = (0..900).flat_map(|second| {
        ["web-1", "web-10", "web-2"].map(|host| Line {
            host: host.to_owned(),
            event: if second % 10 == 0 { "http.error" } else { "http" }.to_owned(),
            at_ms: T0 + second * 1_000,
            sequence: 0,
            message: format!("GET /{}", second % 7),
        })
    });
    logs.write(&lines.collect::<Vec<_>>()).expect("lines");
    let errors = Question {
        host: Some("web-1".to_owned()),
        event: Some("http.error".to_owned()),
        at_ms: T0..T0 + 10 * MINUTE_MS,
    };
    let found = logs.read(Layout::Host, &errors).expect("lines").lines;
    let found: Vec<String> = found.into_iter().map(|line| line.message).collect();
    assert_eq!(found.len(), 60);
    example.answers("errors of a host", &["message"], &found);
    let moment = Question { at_ms: T0..T0 + MINUTE_MS, ..Question::default() };
    let found = logs.read(Layout::Salt, &moment).expect("lines").lines;
    let found: Vec<String> =
        found.iter().map(|line| row(&[&line.host, &line.event, &line.message])).collect();
    assert_eq!(found.len(), 180);
    example.answers("a moment", &["host", "event", "message"], &found);
    example.finish();
}

#[test]
fn monitor_has_metrics_of_a_host_and_of_all() {
    use monitor::{Found, Monitor, Sample};

    let mut example = Example::new("monitor");
    let monitor = Monitor::open(&example.store.store, "monitor").expect("tables");
    for minute in 0..60 {
        let value = f64::from(minute);
        let sample = |host: &str, metric: &str, value| Sample {
            host: host.to_owned(),
            metric: metric.to_owned(),
            at_ms: T0 + i64::from(minute) * MINUTE_MS,
            value,
        };
        let samples = [
            sample("web-1", "cpu", 20.5 + value),
            sample("web-1", "mem", 70.0),
            sample("web-10", "cpu", 30.25 + value),
            sample("web-2", "cpu", 40.0 - value),
        ];
        monitor.write(&samples).expect("samples");
    }
    let times = || T0 + 10 * MINUTE_MS..T0 + 20 * MINUTE_MS;
    // Samples in the order of a statement, without their times.
    let of = |found: halite::Result<Found>| -> Vec<Sample> {
        let mut samples = found.expect("samples").samples;
        let order = |sample: &Sample| (sample.host.clone(), sample.metric.clone(), sample.at_ms);
        samples.sort_by_key(order);
        samples
    };
    let host: Vec<String> = of(monitor.host("web-1", times()))
        .iter()
        .map(|s| row(&[&s.metric, &real(s.value)]))
        .collect();
    assert_eq!(host.len(), 20);
    example.answers("host", &["metric", "p"], &host);
    let cpu = of(monitor.host_metric("web-1", "cpu", times()));
    let cpu: Vec<String> = cpu.iter().map(|sample| row(&[&real(sample.value)])).collect();
    example.answers("metric of a host", &["p"], &cpu);
    for (name, found) in [
        ("metric of all hosts", monitor.metric("cpu", times())),
        ("metric of all hosts, without by_metric", monitor.metric_by_host("cpu", times())),
    ] {
        let all: Vec<String> = of(found).iter().map(|s| row(&[&s.host, &real(s.value)])).collect();
        assert_eq!(all.len(), 30);
        example.answers(name, &["host", "p"], &all);
    }
    example.finish();
}

#[test]
fn timeseries_has_points_means_and_the_fleet() {
    use timeseries::{Found, Reading, Sensors};

    let mut example = Example::new("timeseries");
    let sensors = Sensors::open(&example.store.store, "timeseries").expect("tables");
    let reading = |device: &str, minute: i64, value: f64| Reading {
        device: device.to_owned(),
        at_ms: T0 + minute * MINUTE_MS,
        value,
    };
    let hours: Vec<Reading> = (0..180)
        .flat_map(|minute| {
            let quarters = f64::from(i32::try_from(minute % 8).expect("a number"));
            [reading("s1", minute, 20.5 + quarters / 4.0), reading("s10", minute, 18.0)]
        })
        .collect();
    sensors.write(&hours).expect("readings");
    let others = [reading("s1", -1, 20.25), reading("s1", 179, 25.0), reading("s1", 43_200, 19.5)];
    sensors.write(&others).expect("readings");
    let of = |found: halite::Result<Found>| -> Vec<String> {
        let readings = found.expect("readings").readings;
        readings.iter().map(|reading| row(&[&real(reading.value)])).collect()
    };
    example.answers("latest", &["p"], &of(sensors.latest("s1")));
    let day = of(sensors.recent("s1", 1, T0 + 179 * MINUTE_MS));
    assert_eq!(day.len(), 181);
    example.answers("a day", &["p"], &day);
    let means = sensors.averages("s1", T0..T0 + 3 * HOUR_MS, HOUR_MS).expect("means");
    let means: Vec<String> =
        means.iter().map(|mean| row(&[&real(mean.mean), &mean.readings])).collect();
    example.answers("averages", &["mean", "readings"], &means);
    let fleet = sensors.fleet(T0 + 178 * MINUTE_MS..T0 + 180 * MINUTE_MS).expect("readings");
    let fleet: Vec<String> = fleet
        .map(|found| found.map(|found| row(&[&found.device, &real(found.value)])))
        .collect::<halite::Result<_>>()
        .expect("readings");
    assert_eq!(fleet.len(), 4);
    example.answers("fleet", &["device_id", "p"], &fleet);
    example.finish();
}

#[test]
fn operations_are_those_of_the_history() {
    use user_ops::{History, Operation, PageRequest, user_id};

    let mut example = Example::new("user-ops");
    let history = History::open(&example.store.store, "user_ops").expect("tables");
    let (user, neighbor) = (user_id("12345").expect("an id"), user_id("612345").expect("an id"));
    let operation = |user: &str, hour: i64, sequence: u32, kind: &str, detail: &str| Operation {
        user: user.to_owned(),
        at_ms: T0 + hour * HOUR_MS,
        sequence,
        kind: kind.to_owned(),
        detail: detail.to_owned(),
    };
    let operations = [
        operation(&user, 0, 0, "login", "phone"),
        operation(&user, 2, 0, "buy", "order 17"),
        operation(&user, 2, 1, "pay", "order 17"),
        operation(&user, 30 * 24, 0, "login", "laptop"),
        operation(&neighbor, 1, 0, "login", "phone"),
    ];
    history.record(&operations).expect("operations");
    let columns = ["sequence", "kind", "detail"];
    for (name, at_ms, count) in [("newest", 0..i64::MAX, 4), ("a month", T0..T0 + 30 * DAY_MS, 3)] {
        let request = PageRequest { at_ms, limit: 50, after: None };
        let found = history.page(&user, &request).expect("a page").items;
        let found: Vec<String> =
            found.iter().map(|found| row(&[&found.sequence, &found.kind, &found.detail])).collect();
        assert_eq!(found.len(), count);
        example.answers(name, &columns, &found);
    }
    example.finish();
}

#[test]
fn page_of_a_user_has_the_ring_of_orders() {
    use wide_user::{Order, Users};

    let mut example = Example::new("wide-user");
    let users = Users::open(&example.store.store, "wide_user").expect("tables");
    users.rename("ada", "Ada Lovelace").expect("a name");
    for day in 0..12_u64 {
        let order = Order { id: 100 + day, at_ms: T0 + day.cast_signed() * DAY_MS, cents: 995 };
        assert!(users.add_order("ada", &order).expect("an order"));
    }
    let user = users.page("ada").expect("a page");
    assert_eq!((user.order_count, user.last_orders.len()), (12, 10));
    example.answers("page", &["name"], &[user.name]);
    // The head of the ring, and its ten places.
    let cells: Vec<String> = std::iter::once("\\x72".to_owned())
        .chain((0..10).map(|place| format!("\\x72{place:08x}")))
        .collect();
    example.answers("cells of the ring", &["qualifier"], &cells);
    example.finish();
}
