"""How the submit page looks: Gradio's components in the colours of the other pages."""

import gradio as gr
from gradio.themes import Soft


def theme() -> gr.Theme:
    """Build a theme: one accent colour dark enough to read on white, and system fonts, so that none is fetched."""
    fonts = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif"]
    mono = ["ui-monospace", "Menlo", "Consolas", "monospace"]
    return Soft(
        primary_hue="teal", secondary_hue="teal", neutral_hue="slate", radius_size="md", font=fonts, font_mono=mono
    ).set(
        color_accent="*primary_700",
        block_title_background_fill="none",
        block_title_background_fill_dark="none",
        block_title_text_color="*neutral_600",
        block_title_text_color_dark="*neutral_300",
        block_label_background_fill="*neutral_50",
        block_label_background_fill_dark="*neutral_800",
        block_label_text_color="*neutral_600",
        block_label_text_color_dark="*neutral_300",
        block_label_shadow="none",
        body_text_color_subdued="*neutral_500",
        input_shadow="none",
        input_background_fill_dark="*neutral_800",
        input_placeholder_color="*neutral_500",
        input_placeholder_color_dark="*neutral_400",
        input_border_width="1px",
        input_border_color="*neutral_200",
        input_border_color_dark="*neutral_700",
        button_secondary_border_color="*neutral_300",
        button_secondary_border_color_dark="*neutral_600",
        button_border_width="1px",
        button_primary_shadow="none",
        button_secondary_shadow="none",
        body_background_fill="white",
        block_title_text_weight="600",
        block_title_padding="0",
        block_shadow="none",
        block_border_width="0px",
        block_background_fill="transparent",
        block_background_fill_dark="transparent",
        button_secondary_background_fill_dark="*neutral_700",
        button_secondary_background_fill_hover_dark="*neutral_600",
        button_primary_background_fill="*primary_700",
        button_primary_background_fill_hover="*primary_800",
        button_primary_background_fill_dark="*primary_700",
        checkbox_label_background_fill_selected="*primary_700",
        checkbox_label_background_fill_selected_dark="*primary_700",
        checkbox_label_shadow="none",
        checkbox_label_border_width="1px",
    )
