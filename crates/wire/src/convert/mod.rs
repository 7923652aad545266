//! Between the nouns of `halite-types` and the messages.
