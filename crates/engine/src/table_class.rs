//! Java classes that attributes of tables name: those with a counterpart here, and refusals of the
//! others.

use halite_types::suggest::{closest_match, did_you_mean};
use halite_types::{Error, ErrorKind, Result};

/// Package of the policies of regions and of the store engines.
pub(crate) const REGION_SERVER: &str = "org.apache.hadoop.hbase.regionserver.";

/// Attribute that names one of HBase's classes.
pub(crate) struct ClassAttribute<T: 'static> {
    /// Name of the attribute or setting, for errors.
    pub(crate) name: &'static str,
    /// Package of the classes, with the last dot.
    pub(crate) package: &'static str,
    /// Classes without their package, and their counterparts.
    pub(crate) built: &'static [(&'static str, T)],
    /// HBase's classes without a counterpart, and what to do instead.
    pub(crate) unbuilt: &'static [(&'static str, &'static str)],
}

impl<T: Copy> ClassAttribute<T> {
    /// Returns the counterpart of a class; `None` if there is none.
    pub(crate) fn find(&self, class: &str) -> Option<T> {
        let name = class.trim().strip_prefix(self.package)?;
        self.built.iter().find(|(known, _)| *known == name).map(|(_, counterpart)| *counterpart)
    }

    /// Returns the full names of the classes that have a counterpart.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.built.iter().map(|(name, _)| format!("{}{name}", self.package))
    }

    /// Checks the name of a class.
    ///
    /// # Errors
    /// `Unsupported` for one of HBase's classes without a counterpart, `InvalidRequest` for any
    /// other, with the nearest name and all names.
    pub(crate) fn check(&self, class: &str) -> Result<T> {
        if let Some(counterpart) = self.find(class) {
            return Ok(counterpart);
        }
        let Self { name: attribute, package, .. } = self;
        let short = class.trim().strip_prefix(package).unwrap_or(class.trim());
        let all: Vec<&str> = self.built.iter().map(|(known, _)| *known).collect();
        let all = all.join(", ");
        if let Some((known, instead)) = self.unbuilt.iter().find(|(known, _)| *known == short) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("{attribute} {known} is not built in; {instead}, or one of {all}"),
            ));
        }
        let names: Vec<String> = self.names().collect();
        let full_name = format!("{package}{}", short.rsplit('.').next().unwrap_or(short));
        let near = closest_match(&full_name, names.iter().map(String::as_str));
        Err(Error::invalid(format!(
            "invalid {attribute} {class:?}{}: expected {package} and one of {all}",
            did_you_mean(near)
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: ClassAttribute<u8> = ClassAttribute {
        name: "POLICY",
        package: "org.x.",
        built: &[("FirstPolicy", 1), ("SecondPolicy", 2)],
        unbuilt: &[("BusyPolicy", "choose SecondPolicy")],
    };

    #[test]
    fn unknown_class_is_refused_with_nearest_and_all_names() {
        assert_eq!(POLICY.check(" org.x.SecondPolicy ").unwrap(), 2);
        let refusal = |class: &str| {
            let error = POLICY.check(class).unwrap_err();
            (error.kind(), error.message().to_owned())
        };
        for class in ["org.x.SecnodPolicy", "SecondPolicy", "org.y.SecondPolicy"] {
            let text = format!(
                "invalid POLICY {class:?} (did you mean org.x.SecondPolicy?): expected org.x. and \
                 one of FirstPolicy, SecondPolicy"
            );
            assert_eq!(refusal(class), (ErrorKind::InvalidRequest, text));
        }
        assert_eq!(
            refusal("org.x.BusyPolicy"),
            (
                ErrorKind::Unsupported,
                "POLICY BusyPolicy is not built in; choose SecondPolicy, or one of FirstPolicy, \
                 SecondPolicy"
                    .to_owned()
            )
        );
        assert!(!refusal("com.foo.Bar").1.contains("did you mean"));
    }
}
