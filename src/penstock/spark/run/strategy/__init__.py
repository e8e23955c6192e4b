"""How a view is kept up to date: one small class for each strategy."""
