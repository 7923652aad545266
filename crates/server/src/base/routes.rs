//! Tables of the methods of a service.

/// Expands `Method => handler` lines to one match.
macro_rules! routes {
    ($asked:expr, $call:expr; $($method:ident => $handler:path,)*) => {
        match $call.method {
            $(Method::$method => $asked.serve::<service::$method>($call, $handler),)*
            other => Err($crate::base::errors::not_supported(other.name())),
        }
    };
}

pub(crate) use routes;
