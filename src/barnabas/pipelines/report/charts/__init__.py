"""Plots as SVG text, made by hand: they take their colours and letters from the page's style sheet, so one
drawing serves light and dark, and a reader can select its text.

Each module has functions from plain numbers to a string. Times are seconds since 1970, UTC.
"""
