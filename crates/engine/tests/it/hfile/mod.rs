//! HFiles compared with files and cells that HBase wrote, tested against a model, and damaged.
mod codecs;
mod damage;
mod golden;
mod model;
mod parts;
mod support;
mod verify;
