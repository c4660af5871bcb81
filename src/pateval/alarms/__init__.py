"""Alarms and incidents: how good a list of alarms is, and which threshold a budget of false alarms allows.

`judge_alarms` holds alarms against incidents, `judge_alarm_files` does so for detectors and series in files, and
`alarm_frontier` looks for thresholds where there is a score per step. docs/alarms.md has the definitions.
"""
