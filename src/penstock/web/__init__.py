"""REST and push over one running app; the console is mounted beside it.

Reading order: `host` (the app that runs), `epochs` (epochs that never go back), `answers` (one shape of error), `access` and `guard` (who may
ask, how much), `views`, `rows`, `follow`, `events` and `changes`, `statements`, `query`, `ingest`, `webhooks` (the calls), `app` (all of it as
one ASGI app), `serving` (the same behind a port).
"""
