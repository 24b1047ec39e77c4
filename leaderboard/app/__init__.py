"""The web application: static HTML pages, and Gradio for its API, queue, sign-in and MCP server.

server      the whole application, and running it
pages       the pages' routes; endpoints, submitting and comparing handle requests of forms and programs
checking    checks and previews uploads in other processes (check_worker), with limits on memory and time
line        the queue for checks, scorings and comparisons; jobs run in it; identity identifies clients
client      sends predictions over HTTP; space creates a Space on the Hub: both work without Gradio

connections, middleware, uploads, gradio_queue and faults limit what a request may send, store, fetch and log.

Decision: uploads have their own endpoint; Gradio provides the API, the queue, sign-in, MCP and its form. The endpoint
replaced three run-time patches of Gradio (which stopped components from fetching URLs, allowed Gradio to open upload
paths, and made it check them) and the disk space reserved for announced uploads. A file gets its name only when
it is complete, and every input goes through ``GuardedBlocks.preprocess_data``, whether it comes from the queue, HTTP
or MCP. A form without Gradio was rejected, because it would need its own queue and sign-in.

Input: dataset folders and a store. Output: an ASGI application.
"""
