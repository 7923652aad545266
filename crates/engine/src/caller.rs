//! Who calls: set by a server around the work of a call, read where an operation is logged.
//!
//! A call runs on one thread at a time, so the caller is state of the thread. The embedded library
//! sets none.

use std::cell::RefCell;
use std::sync::Arc;

/// Caller of an operation. A text that is not known is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// Address without the port.
    pub address: Arc<str>,
    /// User.
    pub user: Arc<str>,
    /// Version of the client's library.
    pub version: Arc<str>,
}

thread_local! {
    static CALLER: RefCell<Option<Arc<Caller>>> = const { RefCell::new(None) };
}

/// Runs `work` with this caller for all operations of the thread.
pub fn with_caller<T>(caller: &Arc<Caller>, work: impl FnOnce() -> T) -> T {
    /// Restores the former caller, after a panic too.
    struct Former(Option<Arc<Caller>>);

    impl Drop for Former {
        fn drop(&mut self) {
            let former = self.0.take();
            // A thread that ends has no caller any more.
            let _ = CALLER.try_with(|caller| *caller.borrow_mut() = former);
        }
    }

    let former = CALLER.with(|current| current.borrow_mut().replace(Arc::clone(caller)));
    let _former = Former(former);
    work()
}

/// Returns the caller of the operations of this thread; `None` for the embedded library.
#[cfg_attr(not(any(feature = "heat", test)), expect(dead_code, reason = "nothing is logged"))]
pub(crate) fn current_caller() -> Option<Arc<Caller>> {
    CALLER.with(|caller| caller.borrow().clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caller_is_restored_after_work() {
        let caller =
            |address: &str| Arc::new(Caller { address: address.into(), ..Caller::default() });
        let address = || current_caller().map(|caller| caller.address.to_string());
        with_caller(&caller("a"), || {
            let panicked = std::panic::catch_unwind(|| {
                with_caller(&caller("b"), || {
                    assert_eq!(address().as_deref(), Some("b"));
                    std::panic::resume_unwind(Box::new("expected by this test"));
                });
            });
            panicked.unwrap_err();
            assert_eq!(address().as_deref(), Some("a"));
        });
        assert_eq!(address(), None);
    }
}
