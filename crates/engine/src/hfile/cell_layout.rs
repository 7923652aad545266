//! Which optional parts the cells of a file have.

/// Optional parts of every cell of a file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CellLayout {
    pub(super) tags: bool,
    /// `true` if the tags of an encoded block use a dictionary.
    pub(super) tags_compressed: bool,
    pub(super) sequence_ids: bool,
}
