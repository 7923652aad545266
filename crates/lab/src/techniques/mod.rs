//! Techniques, each declared, shown and priced. One file a page, named after it.

use crate::page::Page;

mod k01;
mod k02;
mod k03;
mod k04;
mod k05;
mod k06;
mod k07;
mod k08;
mod k09;
mod k10;
mod k11;
mod k12;
mod k13;
mod k14;
mod k15;
mod k16;
mod k17;
mod k18;
mod k19;
mod k20;
mod k21;
mod k22;
mod k23;
mod k24;
mod k25;
mod k26;
mod k27;
mod k28;
mod k29;
mod k30;
mod k31;
mod k32;
mod k33;
mod k34;
mod k35;

/// In the order of their ids.
pub(crate) static PAGES: &[Page] = &[
    k01::PAGE,
    k02::PAGE,
    k03::PAGE,
    k04::PAGE,
    k05::PAGE,
    k06::PAGE,
    k07::PAGE,
    k08::PAGE,
    k09::PAGE,
    k10::PAGE,
    k11::PAGE,
    k12::PAGE,
    k13::PAGE,
    k14::PAGE,
    k15::PAGE,
    k16::PAGE,
    k17::PAGE,
    k18::PAGE,
    k19::PAGE,
    k20::PAGE,
    k21::PAGE,
    k22::PAGE,
    k23::PAGE,
    k24::PAGE,
    k25::PAGE,
    k26::PAGE,
    k27::PAGE,
    k28::PAGE,
    k29::PAGE,
    k30::PAGE,
    k31::PAGE,
    k32::PAGE,
    k33::PAGE,
    k34::PAGE,
    k35::PAGE,
];
