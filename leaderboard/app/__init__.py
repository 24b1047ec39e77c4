"""The web application: pages without script, and Gradio beside them for all that is sent.

server      the whole application, and running it
pages       the pages' addresses; endpoints, submitting and comparing: what programs and forms ask for
checking    uploads are checked by other processes (check_worker), with bounds on memory and time
client      sends predictions over HTTP; space makes a Space of the Hub: both work without Gradio

In: dataset folders and a store. Out: an ASGI application.
"""
