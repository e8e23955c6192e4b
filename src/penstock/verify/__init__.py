"""`verify`: what was delivered is what a batch run over the same input gives, row by row.

Reading order: `run` (the whole of it), `consumed` (what the checkpoint says was taken), `expected` (the view in batch over it), `tables`,
`files`, `kafka` (what a stranger finds), `standing` (whether it is where the store says), `changes`, `rows`, `compare`, `report`, `verb`.
"""
