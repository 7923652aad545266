//! What mistakes and techniques rest on: order, ranges, versions, lifetimes. One file a page, named after it.

use crate::page::Page;

mod c01;
mod c02;
mod c04;
mod c05;
mod c06;
mod c07;
mod c08;
mod c09;
mod c16;
mod m07;
mod m08;
mod m09;
mod m10;
mod m11;
mod m12;
mod m13;
mod m14;
mod m15;
mod m16;
mod m17;

/// In the order of their ids.
pub(crate) static PAGES: &[Page] = &[
    c01::PAGE,
    c02::PAGE,
    c04::PAGE,
    c05::PAGE,
    c06::PAGE,
    c07::PAGE,
    c08::PAGE,
    c09::PAGE,
    c16::PAGE,
    m07::PAGE,
    m08::PAGE,
    m09::PAGE,
    m10::PAGE,
    m11::PAGE,
    m12::PAGE,
    m13::PAGE,
    m14::PAGE,
    m15::PAGE,
    m16::PAGE,
    m17::PAGE,
];
