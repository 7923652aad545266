//! Operations timed separately by HBase's dashboards, independent of the call that contains them.

use halite_wire::proto as pb;
use pb::mutation_proto::MutationType;

use crate::base::metrics::Histogram;

/// Operation with a separate duration metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Put,
    Delete,
    Increment,
    Append,
    CheckAndPut,
    CheckAndDelete,
    CheckAndMutate,
    PutBatch,
    DeleteBatch,
}

use Operation::{
    Append, CheckAndDelete, CheckAndMutate, CheckAndPut, Delete, DeleteBatch, Increment, Put,
    PutBatch,
};

impl Operation {
    pub(crate) const ALL: [Self; 9] = [
        Put,
        Delete,
        Increment,
        Append,
        CheckAndPut,
        CheckAndDelete,
        CheckAndMutate,
        PutBatch,
        DeleteBatch,
    ];

    /// Returns the prefix of HBase's attributes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Put => "Put",
            Delete => "Delete",
            Increment => "Increment",
            Append => "Append",
            CheckAndPut => "CheckAndPut",
            CheckAndDelete => "CheckAndDelete",
            CheckAndMutate => "CheckAndMutate",
            PutBatch => "PutBatch",
            DeleteBatch => "DeleteBatch",
        }
    }
}

/// Set of operations of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operations(u16);

impl Operations {
    fn with(self, operation: Operation) -> Self {
        Self(self.0 | 1 << operation as u16)
    }

    fn contains(self, operation: Operation) -> bool {
        self.0 & 1 << operation as u16 != 0
    }

    /// Returns the operations of a single mutation (HBase: `RSRpcServices.mutate`).
    pub(crate) fn from_mutation(kind: MutationType, is_conditional: bool) -> Self {
        let own = match (kind, is_conditional) {
            (MutationType::Put, false) => Put,
            (MutationType::Put, true) => CheckAndPut,
            (MutationType::Delete, false) => Delete,
            (MutationType::Delete, true) => CheckAndDelete,
            (MutationType::Increment, _) => Increment,
            (MutationType::Append, _) => Append,
        };
        let own = Self::default().with(own);
        if is_conditional { own.with(CheckAndMutate) } else { own }
    }

    /// Returns the operations of a multi. Unconditional puts and deletes count as batches (HBase:
    /// `RSRpcServices.doBatchOp`).
    pub(crate) fn from_multi(request: &pb::MultiRequest) -> Self {
        let mut all = Self::default();
        for region in &request.region_action {
            if region.condition.is_some() || request.condition.is_some() {
                all = all.with(CheckAndMutate);
                continue;
            }
            for mutation in region.action.iter().filter_map(|action| action.mutation.as_ref()) {
                all = all.with(match mutation.mutate_type() {
                    MutationType::Put => PutBatch,
                    MutationType::Delete => DeleteBatch,
                    MutationType::Increment => Increment,
                    MutationType::Append => Append,
                });
            }
        }
        all
    }
}

/// Durations by operation, from the last byte of the request to the response, in microseconds,
/// without the wait for a thread.
#[derive(Debug, Default)]
pub(crate) struct OperationTimes([Histogram; Operation::ALL.len()]);

impl OperationTimes {
    pub(crate) fn histogram(&self, operation: Operation) -> &Histogram {
        &self.0[operation as usize]
    }

    /// Records the duration of a call for each of its operations.
    pub(crate) fn record(&self, operations: Operations, duration: std::time::Duration) {
        if operations != Operations::default() {
            Operation::ALL
                .into_iter()
                .filter(|operation| operations.contains(*operation))
                .for_each(|operation| self.histogram(operation).record(duration));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(operations: Operations) -> Vec<&'static str> {
        Operation::ALL
            .into_iter()
            .filter(|operation| operations.contains(*operation))
            .map(Operation::name)
            .collect()
    }

    #[test]
    fn mutation_is_classified_by_type_and_condition() {
        assert_eq!(names(Operations::from_mutation(MutationType::Put, false)), ["Put"]);
        assert_eq!(
            names(Operations::from_mutation(MutationType::Delete, true)),
            ["CheckAndDelete", "CheckAndMutate"]
        );
        assert_eq!(
            names(Operations::from_mutation(MutationType::Append, true)),
            ["Append", "CheckAndMutate"]
        );
    }

    #[test]
    fn multi_is_classified_by_its_actions() {
        let action = |kind: MutationType| {
            let mutation =
                pb::MutationProto { mutate_type: Some(kind.into()), ..Default::default() };
            pb::Action { mutation: Some(mutation), ..Default::default() }
        };
        let region = |kinds: &[MutationType]| pb::RegionAction {
            action: kinds.iter().map(|kind| action(*kind)).collect(),
            ..Default::default()
        };
        let plain = pb::MultiRequest {
            region_action: vec![
                region(&[MutationType::Put, MutationType::Increment]),
                region(&[MutationType::Delete, MutationType::Put]),
            ],
            ..Default::default()
        };
        assert_eq!(names(Operations::from_multi(&plain)), ["Increment", "PutBatch", "DeleteBatch"]);
        let conditional = pb::MultiRequest { condition: Some(pb::Condition::default()), ..plain };
        assert_eq!(names(Operations::from_multi(&conditional)), ["CheckAndMutate"]);
        assert_eq!(Operations::from_multi(&pb::MultiRequest::default()), Operations::default());
        let times = OperationTimes::default();
        times.record(
            Operations::from_mutation(MutationType::Put, true),
            std::time::Duration::from_micros(3),
        );
        assert_eq!(
            (
                times.histogram(CheckAndPut).count(),
                times.histogram(CheckAndMutate).count(),
                times.histogram(Put).count()
            ),
            (1, 1, 0)
        );
    }
}
