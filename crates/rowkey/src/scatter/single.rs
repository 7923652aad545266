//! One range with a limit, which most questions about one thing come to: nothing to merge, nothing to read ahead.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use halite_types::{Result, Row};

use super::cursor::{Cursor, Piece, Shared};
use crate::plan::KeyRange;

/// The range while it is read.
#[expect(clippy::large_enum_variant, reason = "it stands in a box as a whole")]
pub(super) enum Single {
    /// Nobody waits for rows.
    Idle(Cursor),
    /// A piece is being read; it goes on if the call that began it was cancelled.
    Reading(Pin<Box<dyn Future<Output = Piece> + Send>>),
    /// Nothing comes any more.
    Over,
}

impl Single {
    pub(super) fn new(shared: Arc<Shared>, range: KeyRange, limit: usize) -> Self {
        let wanted = (!shared.has_residual).then_some(limit);
        Self::Idle(Cursor::new(shared, range, wanted, Some(limit)))
    }

    /// The next rows, at most `most`; empty at the end.
    pub(super) fn poll_rows(&mut self, context: &mut Context<'_>, most: usize) -> Poll<Result<Vec<Row>>> {
        loop {
            *self = match std::mem::replace(self, Self::Over) {
                Self::Over => return Poll::Ready(Ok(Vec::new())),
                Self::Idle(cursor) if cursor.is_over() => Self::Over,
                Self::Idle(cursor) => Self::Reading(Box::pin(cursor.read())),
                Self::Reading(mut piece) => {
                    let Poll::Ready((cursor, rows)) = piece.as_mut().poll(context) else {
                        *self = Self::Reading(piece);
                        return Poll::Pending;
                    };
                    let mut rows = rows?;
                    *self = Self::Idle(cursor);
                    rows.truncate(most);
                    return Poll::Ready(Ok(rows));
                }
            }
        }
    }
}
