//! The operations that HBase's dashboards time one by one, whatever call they came in.

use halite_wire::proto as pb;
use pb::mutation_proto::MutationType;

use crate::metrics::Histogram;

/// An operation with a time of its own.
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

use Operation::{Append, CheckAndDelete, CheckAndMutate, CheckAndPut, Delete, DeleteBatch, Increment, Put, PutBatch};

impl Operation {
    pub(crate) const ALL: [Self; 9] = [Put, Delete, Increment, Append, CheckAndPut, CheckAndDelete, CheckAndMutate, PutBatch, DeleteBatch];

    /// What HBase's attributes begin with.
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

/// The operations of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operations(u16);

impl Operations {
    fn with(self, operation: Operation) -> Self {
        Self(self.0 | 1 << operation as u16)
    }

    fn contains(self, operation: Operation) -> bool {
        self.0 & 1 << operation as u16 != 0
    }

    /// Those of a single mutation (HBase: `RSRpcServices.mutate`).
    pub(crate) fn of_mutation(kind: MutationType, is_conditional: bool) -> Self {
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

    /// Those of a multi: what is written without a condition counts as a batch (HBase: `RSRpcServices.doBatchOp`).
    pub(crate) fn of_multi(request: &pb::MultiRequest) -> Self {
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

/// How long each took, from the last byte of the request to the answer, in microseconds; the wait for a thread not counted.
#[derive(Debug, Default)]
pub(crate) struct OperationTimes([Histogram; Operation::ALL.len()]);

impl OperationTimes {
    pub(crate) fn of(&self, operation: Operation) -> &Histogram {
        &self.0[operation as usize]
    }

    /// Counts a call.
    pub(crate) fn record(&self, operations: Operations, duration: std::time::Duration) {
        if operations != Operations::default() {
            Operation::ALL.into_iter().filter(|operation| operations.contains(*operation)).for_each(|operation| self.of(operation).record(duration));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(operations: Operations) -> Vec<&'static str> {
        Operation::ALL.into_iter().filter(|operation| operations.contains(*operation)).map(Operation::name).collect()
    }

    #[test]
    fn a_mutation_is_told_by_its_kind_and_its_condition() {
        assert_eq!(names(Operations::of_mutation(MutationType::Put, false)), ["Put"]);
        assert_eq!(names(Operations::of_mutation(MutationType::Delete, true)), ["CheckAndDelete", "CheckAndMutate"]);
        assert_eq!(names(Operations::of_mutation(MutationType::Append, true)), ["Append", "CheckAndMutate"]);
    }

    #[test]
    fn a_multi_is_told_by_what_is_in_it() {
        let action = |kind: MutationType| {
            let mutation = pb::MutationProto { mutate_type: Some(kind.into()), ..Default::default() };
            pb::Action { mutation: Some(mutation), ..Default::default() }
        };
        let region = |kinds: &[MutationType]| pb::RegionAction { action: kinds.iter().map(|kind| action(*kind)).collect(), ..Default::default() };
        let plain = pb::MultiRequest {
            region_action: vec![region(&[MutationType::Put, MutationType::Increment]), region(&[MutationType::Delete, MutationType::Put])],
            ..Default::default()
        };
        assert_eq!(names(Operations::of_multi(&plain)), ["Increment", "PutBatch", "DeleteBatch"]);
        let conditional = pb::MultiRequest { condition: Some(pb::Condition::default()), ..plain };
        assert_eq!(names(Operations::of_multi(&conditional)), ["CheckAndMutate"]);
        assert_eq!(Operations::of_multi(&pb::MultiRequest::default()), Operations::default());
        let times = OperationTimes::default();
        times.record(Operations::of_mutation(MutationType::Put, true), std::time::Duration::from_micros(3));
        assert_eq!((times.of(CheckAndPut).count(), times.of(CheckAndMutate).count(), times.of(Put).count()), (1, 1, 0));
    }
}
