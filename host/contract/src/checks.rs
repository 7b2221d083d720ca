//! The checks by what they are about.

mod append;
mod bytes;
mod configure;
mod create;
mod cut;
mod damage;
mod delete;
mod ids;
mod lease;
mod list;
mod load;
mod restart;
mod summary;

use crate::Check;

/// In the order of the contract.
pub(crate) const ALL: &[&[Check]] = &[
    configure::CHECKS,
    lease::CHECKS,
    create::CHECKS,
    append::CHECKS,
    bytes::CHECKS,
    load::CHECKS,
    cut::CHECKS,
    list::CHECKS,
    summary::CHECKS,
    delete::CHECKS,
    ids::CHECKS,
    restart::CHECKS,
    damage::CHECKS,
];
