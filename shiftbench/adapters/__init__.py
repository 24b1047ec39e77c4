"""Scores under shift in other libraries; each adapter imports its library only when it is called.

compute           ``compute(predictions=, references=, domains=)``, with the interface of Hugging Face's ``evaluate``
domain_scorer     a scikit-learn scorer by domain, for cross_validate and searches
shift_callback    a transformers.TrainerCallback that logs ST, SS, SD and TD at each evaluation
"""
