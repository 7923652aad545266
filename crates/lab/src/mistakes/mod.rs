//! Mistakes, each done wrong and then right. One file a page, named after it.

use crate::page::Page;

mod e01;
mod e02;
mod e03;
mod e04;
mod e05;
mod e06;
mod e07;
mod e08;
mod e09;
mod e10;
mod e11;
mod e12;
mod e13;
mod e14;
mod e15;
mod e16;
mod e17;
mod e19;
mod e20;
mod e21;
mod e22;
mod e23;
mod e24;
mod e25;
mod e26;
mod e27;
mod e28;
mod e29;
mod e30;
mod e31;
mod e32;
mod e33;
mod e34;
mod e37;
mod e38;
mod e39;
mod e41;
mod e42;
mod e43;
mod e44;
mod e45;
mod e46;
mod e47;
mod e48;

/// In the order of their ids.
pub(crate) static PAGES: &[Page] = &[
    e01::PAGE,
    e02::PAGE,
    e03::PAGE,
    e04::PAGE,
    e05::PAGE,
    e06::PAGE,
    e07::PAGE,
    e08::PAGE,
    e09::PAGE,
    e10::PAGE,
    e11::PAGE,
    e12::PAGE,
    e13::PAGE,
    e14::PAGE,
    e15::PAGE,
    e16::PAGE,
    e17::PAGE,
    e19::PAGE,
    e20::PAGE,
    e21::PAGE,
    e22::PAGE,
    e23::PAGE,
    e24::PAGE,
    e25::PAGE,
    e26::PAGE,
    e27::PAGE,
    e28::PAGE,
    e29::PAGE,
    e30::PAGE,
    e31::PAGE,
    e32::PAGE,
    e33::PAGE,
    e34::PAGE,
    e37::PAGE,
    e38::PAGE,
    e39::PAGE,
    e41::PAGE,
    e42::PAGE,
    e43::PAGE,
    e44::PAGE,
    e45::PAGE,
    e46::PAGE,
    e47::PAGE,
    e48::PAGE,
];
