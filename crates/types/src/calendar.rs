//! Dates of days.

/// Returns the year, month and day of a day counted from 1970-01-01, in the proleptic Gregorian
/// calendar, for years that calendar libraries do not reach. Year 0 is the one before year 1.
///
/// ```
/// use halite_types::calendar::civil_date;
/// assert_eq!(civil_date(0), (1970, 1, 1));
/// assert_eq!(civil_date(-719_528), (0, 1, 1));
/// assert_eq!(civil_date(19_782), (2024, 2, 29));
/// ```
pub fn civil_date(days: i128) -> (i128, i128, i128) {
    // The year begins in March here, so that the leap day is its last.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i128::from(month <= 2), month, day)
}
