"""Every clause of row patterns as a query, beside the rows that follow from its definition."""
