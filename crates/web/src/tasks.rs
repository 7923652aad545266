//! Work that requests of the page started, which continues after their answers.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::{Answered, Problem};

/// Maximum tasks that run at once.
const MAX_RUNNING: usize = 4;

/// Maximum tasks that are remembered, running or not.
const MAX_TASKS: usize = 100;

/// State of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum TaskState {
    Running,
    Complete,
    Aborted,
}

/// Task as in HBase's `TaskMonitor`: what is done, and how far it is.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Task {
    /// Number of a task that a request of this page started; `null` for others.
    pub(crate) id: Option<u64>,
    pub(crate) state: TaskState,
    pub(crate) description: String,
    pub(crate) status: String,
    /// Part that is done, 0 to 1.
    pub(crate) progress: Option<f64>,
    /// Milliseconds since 1970.
    pub(crate) started: Option<u64>,
    /// Milliseconds since 1970; `null` while it runs.
    pub(crate) ended: Option<u64>,
    /// Estimate in seconds.
    pub(crate) left_s: Option<u64>,
}

#[derive(Debug, Default)]
struct Known {
    last_id: u64,
    tasks: VecDeque<Task>,
}

/// Tasks that requests of the page started.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<Known>);

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all of them, newest first.
    pub(crate) fn all(&self) -> Vec<Task> {
        self.lock().tasks.iter().rev().cloned().collect()
    }

    /// Returns the number of running ones.
    pub(crate) fn running(&self) -> usize {
        self.lock().running()
    }

    /// Adds a running one and returns its number.
    ///
    /// # Errors
    /// `retry` if too many are running.
    pub(crate) fn add(&self, description: String, started: u64) -> Answered<u64> {
        let mut known = self.lock();
        if known.running() >= MAX_RUNNING {
            let text = format!("{MAX_RUNNING} tasks of this page are running already");
            return Err(Problem::retry(text, 5));
        }
        if known.tasks.len() >= MAX_TASKS
            && let Some(at) = known.tasks.iter().position(|task| task.ended.is_some())
        {
            known.tasks.remove(at);
        }
        known.last_id += 1;
        let id = known.last_id;
        known.tasks.push_back(Task {
            id: Some(id),
            state: TaskState::Running,
            description,
            status: "Running".to_owned(),
            progress: None,
            started: Some(started),
            ended: None,
            left_s: None,
        });
        Ok(id)
    }

    /// Ends one, with the reason if it failed.
    pub(crate) fn end(&self, id: u64, ended: u64, result: Result<(), String>) {
        let mut known = self.lock();
        if let Some(task) = known.tasks.iter_mut().find(|task| task.id == Some(id)) {
            task.ended = Some(ended);
            (task.state, task.status) = match result {
                Ok(()) => (TaskState::Complete, "Complete".to_owned()),
                Err(error) => (TaskState::Aborted, error),
            };
            task.progress = (task.state == TaskState::Complete).then_some(1.0);
        }
    }
}

impl Known {
    fn running(&self) -> usize {
        self.tasks.iter().filter(|task| task.state == TaskState::Running).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_limits_of_running_and_remembered() {
        let tasks = Tasks::default();
        for _ in 0..MAX_RUNNING {
            tasks.add("flush".to_owned(), 1).unwrap();
        }
        assert_eq!(tasks.add("flush".to_owned(), 1).unwrap_err().status, 503);
        tasks.end(1, 2, Err("no disk".to_owned()));
        assert_eq!(tasks.running(), MAX_RUNNING - 1);
        for id in 5..MAX_TASKS as u64 + 20 {
            assert_eq!(tasks.add("flush".to_owned(), 3).unwrap(), id);
            tasks.end(id, 4, Ok(()));
        }
        assert_eq!(tasks.all().len(), MAX_TASKS);
        assert_eq!(tasks.all()[0].state, TaskState::Complete);
    }
}
