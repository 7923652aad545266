//! Services, their methods, and the messages each method takes and gives.

#[rustfmt::skip]
#[allow(clippy::pedantic, reason = "generated code")]
mod table;

use prost::Message;

pub use table::*;

/// A method with its types, for code that is the same for all methods: `send::<ClientGet>(request)`.
pub trait Call {
    /// The method.
    const METHOD: Method;
    /// What it is asked with.
    type Request: Message + Default;
    /// What it answers with.
    type Response: Message + Default;
}

impl Service {
    /// The service of a connection header or an endpoint call; `None` if there is none of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|service| service.name() == name)
    }

    /// The method of a request header; `None` if the service has none of this name. Case matters.
    pub fn method(self, name: &str) -> Option<Method> {
        self.methods().iter().copied().find(|method| method.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_found_by_the_names_it_has_on_the_wire() {
        for service in Service::ALL {
            assert_eq!(Service::from_name(service.name()), Some(*service));
            for method in service.methods() {
                assert_eq!(service.method(method.name()), Some(*method));
                assert_eq!(method.service(), *service);
            }
        }
    }

    #[test]
    fn the_case_of_a_method_counts_and_endpoints_are_told_apart() {
        assert_eq!(Service::Master.method("getProcedureResult"), Some(Method::MasterGetProcedureResult));
        assert_eq!(Service::Master.method("GetProcedureResult"), None);
        assert_eq!(Service::from_name("clientservice"), None);
        assert!(Service::MultiRowMutation.is_endpoint() && !Service::Client.is_endpoint());
    }
}
