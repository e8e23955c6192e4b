"""What is asked, as values: nodes, declarations, findings, names, and a plan as text."""
