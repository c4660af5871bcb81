"""How good is a time-series anomaly detector really?"""
