//! Simulation of the engine: model and crash tests.
