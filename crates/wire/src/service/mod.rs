//! Services, their methods, and the request and response message of each method.

#[rustfmt::skip]
#[allow(clippy::pedantic, reason = "generated code")]
mod table;

use prost::Message;

pub use table::*;

/// Method with its types, for code common to all methods: `send::<ClientGet>(request)`.
pub trait RpcMethod {
    /// Method.
    const METHOD: Method;
    /// Request message.
    type Request: Message + Default;
    /// Response message.
    type Response: Message + Default;
}

impl Service {
    /// Returns the service of a connection header or an endpoint call; `None` if the name is
    /// unknown.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|service| service.name() == name)
    }

    /// Returns the method of a request header; `None` if the service has no method of this name.
    /// Names are case-sensitive.
    pub fn method(self, name: &str) -> Option<Method> {
        self.methods().iter().copied().find(|method| method.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_found_by_its_wire_names() {
        for service in Service::ALL {
            assert_eq!(Service::from_name(service.name()), Some(*service));
            for method in service.methods() {
                assert_eq!(service.method(method.name()), Some(*method));
                assert_eq!(method.service(), *service);
            }
        }
    }

    #[test]
    fn method_names_are_case_sensitive_and_endpoints_are_recognized() {
        assert_eq!(
            Service::Master.method("getProcedureResult"),
            Some(Method::MasterGetProcedureResult)
        );
        assert_eq!(Service::Master.method("GetProcedureResult"), None);
        assert_eq!(Service::from_name("clientservice"), None);
        assert!(Service::MultiRowMutation.is_endpoint() && !Service::Client.is_endpoint());
    }
}
