"""Models of any kind behind one interface, for ``predict`` and ``check``.

A model is named by its ``spec``: a Hub id or folder (``pretrained``), ``module:callable``
(``callables``), a scikit-learn pipeline saved with skops, or a trusted pickle (``pipelines``), or the URL of an
OpenAI-compatible server (``served``). ``loading`` dispatches on the spec, ``labels`` maps labels by name, never by
position, ``doubts`` warns if another order of the labels would score far better, ``parts`` predicts in resumable parts,
and ``heads`` lets fine-tuning start from a checkpoint's own head.
"""
