"""A loop with a measure: one try after another in a branch; those that improve the metric are kept."""
