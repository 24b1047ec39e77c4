"""The frame of reports and pages: elements and templates that escape everything, the style sheet, notices on data."""
