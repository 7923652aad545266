//! Single range with a limit, the most frequent query: nothing to merge or read ahead.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use halite_types::{Result, Row};

use super::cursor::{Cursor, CursorChunk, ScatterContext};
use crate::plan::KeyRange;

/// State of the range.
#[expect(clippy::large_enum_variant, reason = "the whole value is boxed")]
pub(super) enum Single {
    /// No rows are requested.
    Idle(Cursor),
    /// A chunk is being read; the read continues if the call that started it was cancelled.
    Reading(Pin<Box<dyn Future<Output = CursorChunk> + Send>>),
    /// The range has ended.
    Over,
}

impl Single {
    pub(super) fn new(shared: Arc<ScatterContext>, range: KeyRange, limit: usize) -> Self {
        let remaining = (!shared.has_residual).then_some(limit);
        Self::Idle(Cursor::new(shared, range, remaining, Some(limit)))
    }

    /// Returns the next rows, at most `most`; empty at the end.
    pub(super) fn poll_rows(
        &mut self,
        context: &mut Context<'_>,
        most: usize,
    ) -> Poll<Result<Vec<Row>>> {
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
