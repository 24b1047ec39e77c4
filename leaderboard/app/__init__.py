"""The web application: pages without script, and Gradio beside them for all that is sent.

server      the whole application, and running it
pages       the pages' routes; endpoints, submitting and comparing: what programs and forms ask for
checking    uploads are checked and previewed by other processes (check_worker), with bounds on memory and time
line        the one line in which checks, scorings and comparisons wait; jobs, and identity, whose they are
client      sends predictions over HTTP; space makes a Space of the Hub: both work without Gradio

connections, middleware, uploads, gradio_queue and faults bound what a request may send, hold, fetch and log.

Decision: uploads are a plain endpoint beside Gradio, which keeps the API, the queue, sign-in, MCP and the form.
This replaced three patches of Gradio's objects at run time (of components, so that they fetch nothing; of paths that
it may open; of the flags that make it check them) and the room on the disk that announced uploads reserved: a file has
no name before it is whole, and every input passes one method, ``GuardedBlocks.preprocess_data``, whether it came by the
queue, HTTP or MCP. A form without Gradio was not made, because it would need a queue and a sign-in of its own.

In: dataset folders and a store. Out: an ASGI application.
"""
