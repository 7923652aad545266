//! Tables of the methods of a service.

use crate::base::call::{Call, CallError, Reply};
use crate::base::errors::not_supported;

/// Expands `Method => handler` lines to one match, whose value is the reply; `None` for a method
/// that is not in the table.
macro_rules! routes {
    ($context:expr, $call:expr; $($method:ident => $handler:path,)*) => {
        match $call.method {
            $(Method::$method => Some($context.serve::<service::$method>($call, $handler)),)*
            _ => None,
        }
    };
}

pub(crate) use routes;

/// Returns the reply of the table that contains the method of a call.
///
/// # Errors
/// The error of the handler; that of a feature that Halite does not have if no table contains the
/// method.
pub(crate) fn reply_or_not_supported(
    call: &Call,
    reply: Option<Result<Reply, CallError>>,
) -> Result<Reply, CallError> {
    reply.unwrap_or_else(|| Err(not_supported(call.method.name())))
}
