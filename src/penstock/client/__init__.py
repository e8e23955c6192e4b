"""A server's views from another program: the same words as in the process of the app.

client = Client("http://127.0.0.1:8700", token)
client.rows("sales", where="total > 100").to_pandas()
for change in client.follow("sales"): ...
"""

from penstock.client.aio import AsyncClient
from penstock.client.answers import Change, Rows, Statements
from penstock.client.sync import Client
from penstock.client.wire import ServerError

__all__ = ["AsyncClient", "Change", "Client", "Rows", "ServerError", "Statements"]
