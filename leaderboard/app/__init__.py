"""The web application: pages without script, and Gradio beside them for all that is sent.

server      the whole application, and running it
pages       the pages' addresses; endpoints, submitting and comparing: what programs and forms ask for
checking    uploads are checked by other processes (check_worker), with bounds on memory and time
client      sends predictions over HTTP; space makes a Space of the Hub: both work without Gradio

limits, connections, headers, uploads, gradio_blocks and faults bound what a request may send, hold, fetch and log.

Uploads are an endpoint of our own beside Gradio, which stays what the API, the queue, sign-in and the MCP server are
made of. With it nothing is left of three patches of running objects (of components, so that they fetch nothing; of
paths that Gradio may open; of the flags that have it check them) and of the room on the disk that was reserved by what
requests announce: a file that arrives has no name before it is whole, and an input that is not a file of this folder
is refused in one method of ``GuardedBlocks``, which the queue, direct calls and MCP all pass through. A form without
Gradio was not made: it would need a second queue and a second sign-in.

In: dataset folders and a store. Out: an ASGI application.
"""
