"""Figures under shift inside other libraries: each adapter imports its library when it is called.

compute           ``compute(predictions=, references=, domains=)``, as metrics of Hugging Face's ``evaluate`` are called
domain_scorer     a scikit-learn scorer by domain, for cross_validate and searches
shift_callback    a transformers.TrainerCallback: ST, SS, SD and TD at each evaluation, to where the Trainer logs
"""
