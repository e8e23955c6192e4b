"""The console: pages for a browser on the server's own app, under `/console`.

Reading order: `door` (login, and what every answer carries), `install` (which page is where), `frame` (what all pages share), `views` and `view`
with `rows` (a view's rows, live), `shape` and `chart` (how they are drawn), `graph`, `alerts`, `editor`, `operations` with `timeline` (the pages).
"""
