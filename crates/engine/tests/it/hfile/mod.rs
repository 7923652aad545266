//! HFiles against the files and cells HBase wrote, against a model, and against damage.
mod damage;
mod golden;
mod model;
mod support;
mod verify;
