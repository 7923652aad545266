//! ClickBench's 43 queries, numbered from 0 as there, with the marks of `queries.rs`.

/// Queries, and the columns of their answers by which these are ordered.
pub(super) const QUERIES: [(&str, &[usize]); 43] = [
    ("SELECT count(*) FROM hits", &[]),
    ("SELECT count(*) FROM hits WHERE AdvEngineID <> 0", &[]),
    ("SELECT sum(AdvEngineID), count(*), avg(ResolutionWidth) FROM hits", &[]),
    ("SELECT avg(UserID) FROM hits", &[]),
    ("SELECT count(DISTINCT UserID) FROM hits", &[]),
    ("SELECT count(DISTINCT SearchPhrase) FROM hits", &[]),
    ("SELECT min(EventDate), max(EventDate) FROM hits", &[]),
    (
        "SELECT AdvEngineID, count(*) FROM hits WHERE AdvEngineID <> 0
         GROUP BY AdvEngineID ORDER BY count(*) DESC{ties AdvEngineID}",
        &[1],
    ),
    (
        "SELECT RegionID, count(DISTINCT UserID) AS u FROM hits
         GROUP BY RegionID ORDER BY u DESC{ties RegionID} LIMIT 10",
        &[1],
    ),
    (
        "SELECT RegionID, sum(AdvEngineID), count(*) AS c, avg(ResolutionWidth),
            count(DISTINCT UserID)
         FROM hits GROUP BY RegionID ORDER BY c DESC{ties RegionID} LIMIT 10",
        &[2],
    ),
    (
        "SELECT MobilePhoneModel, count(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> ''
         GROUP BY MobilePhoneModel ORDER BY u DESC{ties MobilePhoneModel} LIMIT 10",
        &[1],
    ),
    (
        "SELECT MobilePhone, MobilePhoneModel, count(DISTINCT UserID) AS u FROM hits
         WHERE MobilePhoneModel <> '' GROUP BY MobilePhone, MobilePhoneModel
         ORDER BY u DESC{ties MobilePhone, MobilePhoneModel} LIMIT 10",
        &[2],
    ),
    (
        "SELECT SearchPhrase, count(*) AS c FROM hits WHERE SearchPhrase <> ''
         GROUP BY SearchPhrase ORDER BY c DESC{ties SearchPhrase} LIMIT 10",
        &[1],
    ),
    (
        "SELECT SearchPhrase, count(DISTINCT UserID) AS u FROM hits WHERE SearchPhrase <> ''
         GROUP BY SearchPhrase ORDER BY u DESC{ties SearchPhrase} LIMIT 10",
        &[1],
    ),
    (
        "SELECT SearchEngineID, SearchPhrase, count(*) AS c FROM hits WHERE SearchPhrase <> ''
         GROUP BY SearchEngineID, SearchPhrase
         ORDER BY c DESC{ties SearchEngineID, SearchPhrase} LIMIT 10",
        &[2],
    ),
    (
        "SELECT UserID, count(*) FROM hits
         GROUP BY UserID ORDER BY count(*) DESC{ties UserID} LIMIT 10",
        &[1],
    ),
    (
        "SELECT UserID, SearchPhrase, count(*) FROM hits GROUP BY UserID, SearchPhrase
         ORDER BY count(*) DESC{ties UserID, SearchPhrase} LIMIT 10",
        &[2],
    ),
    (
        "SELECT UserID, SearchPhrase, count(*) FROM hits
         GROUP BY UserID, SearchPhrase {order UserID, SearchPhrase} LIMIT 10",
        &[],
    ),
    (
        "SELECT UserID, {minute EventTime} AS m, SearchPhrase, count(*) FROM hits
         GROUP BY UserID, m, SearchPhrase
         ORDER BY count(*) DESC{ties UserID, m, SearchPhrase} LIMIT 10",
        &[3],
    ),
    ("SELECT UserID FROM hits WHERE UserID = {user}", &[]),
    ("SELECT count(*) FROM hits WHERE {has URL google}", &[]),
    (
        "SELECT SearchPhrase, min(URL), count(*) AS c FROM hits
         WHERE {has URL google} AND SearchPhrase <> ''
         GROUP BY SearchPhrase ORDER BY c DESC{ties SearchPhrase} LIMIT 10",
        &[2],
    ),
    (
        "SELECT SearchPhrase, min(URL), min(Title), count(*) AS c, count(DISTINCT UserID) FROM hits
         WHERE {has Title Google} AND NOT {has URL .google.} AND SearchPhrase <> ''
         GROUP BY SearchPhrase ORDER BY c DESC{ties SearchPhrase} LIMIT 10",
        &[3],
    ),
    ("SELECT * FROM hits WHERE {has URL google} ORDER BY EventTime{ties WatchID} LIMIT 10", &[3]),
    // What it is ordered by is not in its answer.
    (
        "SELECT SearchPhrase FROM hits WHERE SearchPhrase <> ''
         ORDER BY EventTime{ties SearchPhrase} LIMIT 10",
        &[],
    ),
    (
        "SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY SearchPhrase LIMIT 10",
        &[0],
    ),
    (
        "SELECT SearchPhrase FROM hits WHERE SearchPhrase <> ''
         ORDER BY EventTime, SearchPhrase LIMIT 10",
        &[0],
    ),
    (
        "SELECT CounterID, avg(length(URL)) AS l, count(*) AS c FROM hits WHERE URL <> ''
         GROUP BY CounterID HAVING count(*) > {large}
         ORDER BY l DESC{ties CounterID} LIMIT 25",
        &[1],
    ),
    (
        "SELECT {domain Referer} AS k, avg(length(Referer)) AS l, count(*) AS c, min(Referer)
         FROM hits WHERE Referer <> '' GROUP BY k HAVING count(*) > {large}
         ORDER BY l DESC{ties k} LIMIT 25",
        &[1],
    ),
    ("SELECT sum(ResolutionWidth), {sums} FROM hits", &[]),
    (
        "SELECT SearchEngineID, ClientIP, count(*) AS c, sum(IsRefresh), avg(ResolutionWidth)
         FROM hits WHERE SearchPhrase <> '' GROUP BY SearchEngineID, ClientIP
         ORDER BY c DESC{ties SearchEngineID, ClientIP} LIMIT 10",
        &[2],
    ),
    (
        "SELECT WatchID, ClientIP, count(*) AS c, sum(IsRefresh), avg(ResolutionWidth)
         FROM hits WHERE SearchPhrase <> '' GROUP BY WatchID, ClientIP
         ORDER BY c DESC{ties WatchID, ClientIP} LIMIT 10",
        &[2],
    ),
    (
        "SELECT WatchID, ClientIP, count(*) AS c, sum(IsRefresh), avg(ResolutionWidth)
         FROM hits GROUP BY WatchID, ClientIP ORDER BY c DESC{ties WatchID, ClientIP} LIMIT 10",
        &[2],
    ),
    ("SELECT URL, count(*) AS c FROM hits GROUP BY URL ORDER BY c DESC{ties URL} LIMIT 10", &[1]),
    (
        "SELECT 1, URL, count(*) AS c FROM hits GROUP BY 1, URL ORDER BY c DESC{ties URL} LIMIT 10",
        &[2],
    ),
    (
        "SELECT ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3, count(*) AS c FROM hits
         GROUP BY ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3
         ORDER BY c DESC{ties ClientIP} LIMIT 10",
        &[4],
    ),
    (
        "SELECT URL, count(*) AS PageViews FROM hits
         WHERE {july} AND DontCountHits = 0 AND IsRefresh = 0 AND URL <> ''
         GROUP BY URL ORDER BY PageViews DESC{ties URL} LIMIT 10",
        &[1],
    ),
    (
        "SELECT Title, count(*) AS PageViews FROM hits
         WHERE {july} AND DontCountHits = 0 AND IsRefresh = 0 AND Title <> ''
         GROUP BY Title ORDER BY PageViews DESC{ties Title} LIMIT 10",
        &[1],
    ),
    (
        "SELECT URL, count(*) AS PageViews FROM hits
         WHERE {july} AND IsRefresh = 0 AND IsLink <> 0 AND IsDownload = 0
         GROUP BY URL ORDER BY PageViews DESC{ties URL} LIMIT 10 {offset 1000}",
        &[1],
    ),
    (
        "SELECT TraficSourceID, SearchEngineID, AdvEngineID,
            CASE WHEN SearchEngineID = 0 AND AdvEngineID = 0 THEN Referer ELSE '' END AS Src,
            URL AS Dst, count(*) AS PageViews
         FROM hits WHERE {july} AND IsRefresh = 0
         GROUP BY TraficSourceID, SearchEngineID, AdvEngineID, Src, Dst
         ORDER BY PageViews DESC{ties TraficSourceID, SearchEngineID, AdvEngineID, Src, Dst}
         LIMIT 10 {offset 1000}",
        &[5],
    ),
    (
        "SELECT URLHash, EventDate, count(*) AS PageViews FROM hits
         WHERE {july} AND IsRefresh = 0 AND TraficSourceID IN (-1, 6) AND RefererHash = {page}
         GROUP BY URLHash, EventDate
         ORDER BY PageViews DESC{ties URLHash, EventDate} LIMIT 10 {offset 100}",
        &[2],
    ),
    (
        "SELECT WindowClientWidth, WindowClientHeight, count(*) AS PageViews FROM hits
         WHERE {july} AND IsRefresh = 0 AND DontCountHits = 0 AND URLHash = {page}
         GROUP BY WindowClientWidth, WindowClientHeight
         ORDER BY PageViews DESC{ties WindowClientWidth, WindowClientHeight}
         LIMIT 10 {offset 10000}",
        &[2],
    ),
    (
        "SELECT {truncated EventTime} AS M, count(*) AS PageViews FROM hits
         WHERE CounterID = 62 AND EventDate >= {day 14} AND EventDate <= {day 15}
            AND IsRefresh = 0 AND DontCountHits = 0
         GROUP BY {truncated EventTime} ORDER BY {truncated EventTime} LIMIT 10 {offset 1000}",
        &[0],
    ),
];
