//! The cases, one file per area.

mod apply;
mod apply_lists;
mod cel;
mod concurrency;
mod crds;
mod deletion;
mod garbage;
mod generation;
mod managers;
mod objects;
mod patch;
mod schema;
mod strategic;
mod subresources;
mod validation;

use crate::Case;

pub(crate) const TABLES: &[&[Case]] = &[
    objects::CASES,
    concurrency::CASES,
    apply::CASES,
    apply_lists::CASES,
    managers::CASES,
    patch::CASES,
    strategic::CASES,
    generation::CASES,
    subresources::CASES,
    deletion::CASES,
    garbage::CASES,
    schema::CASES,
    validation::CASES,
    cel::CASES,
    crds::CASES,
];
