"""Many views, few jobs: which views run together in one streaming query, and what is known of each."""
